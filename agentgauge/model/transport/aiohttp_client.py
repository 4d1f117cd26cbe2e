"""The transport on aiohttp alone. A request costs a third of what it costs through the ``openai`` package."""

from __future__ import annotations

import io
import select
import ssl
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin
from weakref import WeakSet

import aiohttp
from yarl import URL

from agentgauge.model.spec import ModelSpec
from agentgauge.model.transport.addressing import Proxy, own_tls_context, proxy_for, standing_headers, url_of
from agentgauge.model.transport.base import MAX_REDIRECTS, MAX_STREAM, Answer, Outgoing, TransportError, is_event_stream
from agentgauge.model.transport.transport_errors import AnswerTooLong, transport_error
from agentgauge.model.wire import excerpt

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

_IDLE = 4.0
"""Seconds that a connection is kept for a next request. Common model servers close it after 5."""
_LARGE = 1 << 20  # bytes; aiohttp sends more than this piece by piece, if it is asked to
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key")
_REDIRECTS = (301, 302, 303, 307, 308)

Body = bytes | io.BytesIO | aiohttp.FormData | None


class AiohttpTransport:
    """One session to one endpoint, with as many connections as there are concurrent requests."""

    def __init__(self, spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> None:
        self._spec = spec
        self._environ = environ
        self._headers = standing_headers(spec, key, environ)
        self._ways: dict[str, tuple[URL, Proxy | None]] = {}
        self._session = aiohttp.ClientSession(
            connector=_Connector(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def send(self, request: Outgoing) -> Answer | TransportError:
        method: str = request.method
        headers = {**self._headers, **request.headers}
        address = url_of(self._spec, request.path)
        sends_body = True
        try:
            for _ in range(MAX_REDIRECTS + 1):
                answer = await self._once(
                    method, address, headers, _body(request) if sends_body else None, request.largest
                )
                location = answer.headers.get("Location")
                if answer.status not in _REDIRECTS or location is None:
                    return answer
                target = _target(address, location)
                if target is None:
                    return TransportError("redirects", f"it redirects to {excerpt(location)!r}")
                if answer.status == 303 or (answer.status in (301, 302) and method == "POST"):
                    method, sends_body = "GET", False
                if not _same_place(address, target):
                    headers = {name: value for name, value in headers.items() if name.lower() not in _SECRET_HEADERS}
                address = target
        except (aiohttp.ClientError, AnswerTooLong, OSError) as error:
            return transport_error(error)
        return TransportError("redirects", f"more than {MAX_REDIRECTS} redirects")

    async def close(self) -> None:
        await self._session.close()

    async def _once(self, method: str, address: str, headers: Mapping[str, str], body: Body, largest: int) -> Answer:
        url, proxy = self._way(address)
        if proxy and url.scheme == "http":
            headers = {**headers, **proxy.headers}  # aiohttp gives its own proxy headers to tunnels only
        if isinstance(body, bytes | io.BytesIO):
            headers = {**headers, "Content-Type": "application/json"}
        async with self._session.request(
            method,
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
            # Plain HTTP needs no certificates.
            ssl=True if url.scheme == "http" and not proxy else self._tls or True,
        ) as answer:
            largest = max(largest, MAX_STREAM) if is_event_stream(answer.headers) else largest
            return Answer(answer.status, answer.reason or "", answer.headers, await _read(answer, largest))

    def _way(self, address: str) -> tuple[URL, Proxy | None]:
        """Looked up once: nearly all requests go to one address."""
        way = self._ways.get(address)
        if way is None:
            if len(self._ways) >= 64:
                self._ways.clear()  # every uploaded file has an address of its own
            way = self._ways[address] = (URL(address), proxy_for(address))
        return way

    @cached_property
    def _tls(self) -> ssl.SSLContext | None:
        return own_tls_context(self._environ)


class _Connector(aiohttp.TCPConnector):
    """Checks a kept connection before it is used again, and drops one that the server has closed.

    aiohttp drops it only when its loop has processed the closing, which may be too late; and it never retries a POST.
    """

    def __init__(self) -> None:
        super().__init__(limit=0, keepalive_timeout=_IDLE)
        self._used: WeakSet[ResponseHandler] = WeakSet()

    async def connect(self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:  # noqa: ASYNC109
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            assert protocol is not None
            if protocol not in self._used:
                self._used.add(protocol)
                return connection
            if not _is_readable(connection):
                return connection
            connection.close()


def _is_readable(connection: Connection) -> bool:
    """Whether an idle connection can be read: then it has been closed."""
    channel: Any = connection.transport and connection.transport.get_extra_info("socket")
    number: int = -1 if channel is None else channel.fileno()
    if number < 0:
        return True
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


async def _read(answer: aiohttp.ClientResponse, largest: int) -> bytes:
    """The body. Raises AnswerTooLong."""
    chunks: list[bytes] = []
    size = 0
    while chunk := await answer.content.readany():
        chunks.append(chunk)
        size += len(chunk)
        if size > largest:
            raise AnswerTooLong
    return b"".join(chunks)


def _target(address: str, location: str) -> str | None:
    """Where a redirect leads, or None for a place that is no web address."""
    try:
        target = URL(urljoin(address, location))
    except ValueError:
        return None
    return str(target) if target.scheme in ("http", "https") and target.host else None


def _same_place(one: str, other: str) -> bool:
    """Whether both have one origin, or the second is the same host under https: the key may be sent there, too."""
    first, second = URL(one).origin(), URL(other).origin()
    upgraded = (first.scheme, first.port, second.scheme, second.port) == ("http", 80, "https", 443)
    return first == second or (upgraded and first.host == second.host)


def _body(request: Outgoing) -> Body:
    """What an attempt sends; a form, for a file, must be a new one each time. Names are in UTF-8, as browsers do it."""
    if request.file is None:
        return io.BytesIO(request.content) if len(request.content) > _LARGE else request.content or None
    name, content, media = request.file
    made = aiohttp.FormData(list(request.fields.items()), quote_fields=False)
    plain = "".join(sign if sign.isprintable() else "_" for sign in name)  # aiohttp refuses line breaks
    made.add_field("file", content, filename=plain, content_type=media)
    return made
