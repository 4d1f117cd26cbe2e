"""The HTTP servers of AgentGauge: aiohttp's connections, bounded in number, in time and in what they write to logs.

A client can neither keep others out nor fill a disk. Where there are too many connections, the one that
has been idle longest is closed for a new one; a connection whose request is being answered is never closed for
another.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from agentgauge.core.files import raise_file_limit
from agentgauge.core.processes import BACKLOG, accepted

MOST_CONNECTIONS = 2048
"""Connections of a server at a time, fewer where the limit of open files is low. Half of them from one other
machine."""
MOST_HEADERS = 64  # of a request, with 8 KiB each
SECONDS = 60.0
"""The longest time for a connection to be idle, for the headers of a request to arrive, and for its body."""

_UNDISTURBED = 0.25  # seconds in which an idle connection is not closed for another: its request may be on the way
_LOOK = 0.1  # seconds between two looks for a connection that can be closed
_FILES = 3  # of a connection: its own, one that its request needs, one of a second server in this process
_OTHER_FILES = 64
_FEWEST = 8  # connections where hardly any files may be open
_FAULTS_OF_CLIENTS = (HttpProcessingError, web.RequestPayloadError, ClientPayloadError, ConnectionError)


@contextlib.asynccontextmanager
async def served(
    app: web.Application,
    sockets: Sequence[socket.socket],
    *,
    shutdown_seconds: float = 1.0,
    handler_cancellation: bool = False,
    **options: Any,
) -> AsyncIterator[int]:
    """Serve an application on listening sockets, which are closed at the end; gives the port.

    ``handler_cancellation``: a request is cancelled when its client disconnects. ``options``: those of aiohttp's
    ``RequestHandler``.
    """
    runner = web.AppRunner(app, shutdown_timeout=shutdown_seconds, handler_cancellation=handler_cancellation)
    await runner.setup()
    try:
        assert runner.server is not None, "the runner is set up"
        listener = _Listener(runner.server, sockets, options)
        try:
            yield sockets[0].getsockname()[1]
        finally:
            await listener.close()
    finally:
        await runner.cleanup()


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at every address of a host, at the same port; port 0 is any free one. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            sockets.append(socket.create_server((address[0], port), family=family, backlog=BACKLOG))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and sockets:
                continue  # the machine has one version of IP only
            for each in sockets:
                each.close()
            raise
        port = sockets[0].getsockname()[1]
    return sockets


@contextlib.contextmanager
def answering(request: web.BaseRequest) -> Iterator[None]:
    """The request may be answered, so its connection is not closed for others meanwhile."""
    connection = request.protocol
    assert isinstance(connection, _Connection), "the application is served by ``served``"
    with connection.listener.answering(connection):
        yield


async def whole_body(request: web.BaseRequest) -> bytes:
    """The body of a request. Raises HTTPRequestTimeout where it does not arrive in time."""
    try:
        async with asyncio.timeout(SECONDS):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=f"the body did not arrive within {SECONDS:g} s") from None


class _Connection(web.RequestHandler):
    __slots__ = ("host", "listener", "wire")

    def __init__(self, listener: _Listener, host: str, server: web.Server, options: dict[str, Any]) -> None:
        self.listener, self.host = listener, host
        self.wire: asyncio.BaseTransport | None = None
        options = {"access_log": None, "max_headers": MOST_HEADERS, **options}
        super().__init__(server, loop=asyncio.get_running_loop(), keepalive_timeout=SECONDS, **options)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.wire = transport
        self.listener.opened(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.wire = None
        self.listener.closed(self)
        super().connection_lost(exc)

    def abort(self) -> None:
        if isinstance(self.wire, asyncio.Transport):
            self.wire.abort()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a request that cannot be read by one sentence; write nothing to the log."""
        if status != 400 and not isinstance(exc, _FAULTS_OF_CLIENTS):
            return super().handle_error(request, status, exc, message)
        first = (message or str(exc or "") or "it is malformed").strip().splitlines()[0].rstrip(":.")
        response = web.json_response({"detail": f"the request cannot be read as HTTP: {first}"}, status=400)
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Write to the log what is not a client's fault: any client could fill a disk otherwise."""
        if not isinstance(kwargs.get("exc_info"), _FAULTS_OF_CLIENTS):
            super().log_exception(*args, **kwargs)


class _Listener:
    """Accepts connections until ``close``."""

    def __init__(self, server: web.Server, sockets: Sequence[socket.socket], options: dict[str, Any]) -> None:
        self._server, self._sockets, self._options = server, sockets, options
        files = raise_file_limit(_OTHER_FILES + _FILES * MOST_CONNECTIONS)
        self._most = min(MOST_CONNECTIONS, max((files - _OTHER_FILES) // _FILES, _FEWEST))
        self._open: Counter[str] = Counter()  # connections by host
        self._idle: dict[_Connection, float] = {}  # and since when; the one that has been idle longest is first
        self._freed = asyncio.Event()
        self._tasks = [asyncio.create_task(self._accept(each)) for each in sockets]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in self._sockets:
            each.close()

    def opened(self, connection: _Connection) -> None:
        self._open[connection.host] += 1
        self._idle[connection] = time.monotonic()

    def closed(self, connection: _Connection) -> None:
        self._idle.pop(connection, None)
        self._open -= Counter([connection.host])
        self._freed.set()

    @contextlib.contextmanager
    def answering(self, connection: _Connection) -> Iterator[None]:
        self._idle.pop(connection, None)
        try:
            yield
        finally:
            if connection.wire is not None:
                self._idle[connection] = time.monotonic()

    async def _accept(self, listening: socket.socket) -> None:
        async for link, address in accepted(listening, self._room, self._close_idle):
            host = str(address[0])
            if not _is_this_machine(host) and self._open[host] >= self._most // 2 and not self._close_idle(host):
                link.close()
                continue
            try:
                made = partial(_Connection, self, host, self._server, self._options)
                await asyncio.get_running_loop().connect_accepted_socket(made, link)
            except Exception:  # of one connection, such as a lack of memory; others still come
                link.close()

    async def _room(self) -> None:
        while self._open.total() >= self._most:
            self._freed.clear()
            self._close_idle()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), _LOOK)

    def _close_idle(self, host: str | None = None) -> bool:
        """Close the connection that has been idle longest, of a host if one is named. False: there is none."""
        found = next((each for each in self._idle if host in (None, each.host)), None)
        if found is None or time.monotonic() - self._idle[found] < _UNDISTURBED:
            return False
        del self._idle[found]
        found.abort()
        return True


def _is_this_machine(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback
