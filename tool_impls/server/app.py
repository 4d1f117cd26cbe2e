"""The tool server: AgentLego's HTTP protocol (docs/benchmarks/tools.md#tool-server) in front of the tools, and five
addresses of its own.

    agentgauge serve-tools --port 16181 --settings agentgauge.toml

``GET /health`` (it runs), ``/ready`` (what was to be loaded is loaded), ``/tools`` (fingerprints), ``/about`` (version
and limits, for a server in front of it) and ``/metrics`` (Prometheus). When it listens it prints one line of JSON,
``{"url": ..., "token": ...}``, and serves until SIGTERM or SIGINT. The work is done in processes
(``tool_impls.server.worker_pool``): a few for light tools, one for each device for tools with models; or by other
servers (``tool_impls.server.replicas``). A tool's model loads at its first call, so a run pays only for the tools that
it uses.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import signal
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentgauge.core.announcement import own_version
from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import given_listener
from agentgauge.core.tools import Tool
from tool_impls.base import DISABLED, works
from tool_impls.server import protocol
from tool_impls.server.calls import CallAnswer, QueuedCall, encode, failure
from tool_impls.server.execution import CONTENT_TYPE, CallPool, ToolMetrics
from tool_impls.server.protocol import write_document
from tool_impls.server.requests import WITHOUT_TOKEN, Access, TooLarge, TooSlow, Uploads, pass_over

if TYPE_CHECKING:
    from aiohttp import web

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


MAX_BODY = 64 * 2**20  # bytes
BODY_SECONDS = 60.0  # for the body of a call to arrive. It takes no slot of the tool meanwhile
LEFT_OF_REFUSED = 2**20  # bytes that are read of a body whose request is refused
REASONS = {422: "Unprocessable Entity"}  # newer Pythons word it differently, and clients quote it


class ToolQueue:
    """The queue of one tool's calls: it refuses calls, lets them wait, or passes them to the worker pool.

    ``slots``: calls that run at a time, in all processes. ``limit``: calls that may wait or run.
    """

    def __init__(self, tool: Tool, state: str, pool: CallPool, *, slots: int, limit: int, seconds: float) -> None:
        self.tool, self.state, self.pool, self.limit = tool, state, pool, limit
        self.calls = 0  # waiting and running calls
        self.running = 0
        self._seconds, self._number = seconds, slots
        self._slots = asyncio.Semaphore(slots)

    @property
    def works(self) -> bool:
        return works(self.state)

    def refusal(self) -> CallAnswer | None:
        """The answer to a call that is refused; None if the call is accepted."""
        name = self.tool.name
        if self.state.startswith(DISABLED):
            reason = self.state.partition(": ")[2] or "take it out of disable in [tools] of the settings to enable it"
            return failure(400, f"{name} is disabled in this run: {reason}")
        if not self.works:
            return failure(503, f"{name} is {self.state}")
        if self.calls >= self.limit:
            reason = "calls waiting, which is its limit; try again, or lower --in-flight"
            return failure(503, f"{name} has {self.calls} {reason}")
        return None

    def about(self) -> dict[str, Any]:
        """The tool and its limits, as ``tool_impls.server.replicas.Offer`` has them."""
        limits = {"slots": self._number, "queue": self.limit, "seconds": self._seconds}
        return {"meta": self.tool.to_json(), "state": self.state, **limits}

    @property
    def waiting(self) -> int:
        return self.calls - self.running

    async def run(self, call: QueuedCall, wanted: Callable[[], bool]) -> CallAnswer | None:
        """The answer; None if ``wanted`` is false when a slot becomes free."""
        self.calls += 1
        try:
            async with self._slots:
                if not wanted():
                    return None
                self.running += 1
                try:
                    return await self.pool.run(call, self._seconds)
                finally:
                    self.running -= 1
        finally:
            self.calls -= 1


class ToolServer:
    """A web application that offers tools. ``fingerprints`` returns what ``/tools`` shows. ``devices``: by tool with a
    model where it runs, as far as it is known at the start."""

    def __init__(
        self,
        queues: Sequence[ToolQueue],
        metrics: ToolMetrics,
        scratch: Path,
        *,
        fingerprints: Callable[[], Mapping[str, Any]] = dict,
        devices: Mapping[str, str] = MappingProxyType({}),
        access: Access = WITHOUT_TOKEN,
        preload: bool = False,
        max_body: int = MAX_BODY,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.devices = devices
        self._queues = {queue.tool.name: queue for queue in queues}
        self._document = write_document([queue.tool for queue in queues])
        self._metrics = metrics
        self._scratch = scratch
        self._fingerprints = fingerprints
        self._access = access
        self._preload = preload
        self._loading: dict[str, str] = {}  # tools whose models are to be loaded, and what became of it
        self._max_body = max_body
        self._body_seconds = body_seconds
        for queue in queues:
            metrics.add_tool(queue.tool.name, partial(getattr, queue, "waiting"), partial(getattr, queue, "running"))

    @property
    def working(self) -> Sequence[Tool]:
        """The tools that can be called."""
        return [queue.tool for queue in self._queues.values() if queue.works]

    def application(self) -> web.Application:
        from aiohttp import web

        layers: list[Any] = [web.middleware(_plain_errors), web.middleware(_guard(self._access))]
        app = web.Application(middlewares=layers)
        pages: dict[str, Callable[[], web.Response]] = {
            "/": lambda: web.Response(status=307, headers={"Location": "/openapi.json"}),
            "/openapi.json": lambda: _json(self._document),
            "/health": self._health,
            "/ready": self._ready,
            "/about": self._about,
            "/metrics": lambda: web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE}),
        }
        for path, page in pages.items():
            app.router.add_get(path, _shown(page), allow_head=False)
        app.router.add_get("/tools", self._tools, allow_head=False)
        for queue in self._queues.values():
            app.router.add_post(f"/{protocol.path_name(queue.tool)}", self._handler(queue))
        app.cleanup_ctx.append(self._resources)
        return app

    async def _resources(self, _: web.Application) -> AsyncIterator[None]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        loading = asyncio.create_task(self._load()) if self._preload else None
        yield
        if loading is not None:
            loading.cancel()
        await asyncio.gather(*(pool.close() for pool in {queue.pool for queue in self._queues.values()}))
        shutil.rmtree(self._scratch, ignore_errors=True)

    async def _load(self) -> None:
        wanted = [queue for queue in self._queues.values() if queue.works]
        self._loading = {queue.tool.name: "loading" for queue in wanted}
        for queue in wanted:
            answer = await queue.pool.load(queue.tool.name)
            if answer.status == 200:
                del self._loading[queue.tool.name]
            else:
                self._loading[queue.tool.name] = json.loads(answer.body)["detail"]

    def _health(self) -> web.Response:
        queues = self._queues.items()
        confined = {name: queue.pool.confinement for name, queue in queues if queue.pool.confinement}
        states = {name: queue.state for name, queue in queues}
        return _json({"status": "ok", "tools": states, **({"confinement": confined} if confined else {})})

    def _ready(self) -> web.Response:
        return _json({"ready": not self._loading, "waiting_for": self._loading}, 503 if self._loading else 200)

    def _about(self) -> web.Response:
        tools = {name: queue.about() for name, queue in self._queues.items()}
        return _json({"version": own_version(), "tools": tools})

    async def _tools(self, request: web.Request) -> web.StreamResponse:
        from agentgauge.core.web_server import answering

        with answering(request):
            return _json(await asyncio.to_thread(self._fingerprints))  # it may read gigabytes of weights

    def _handler(self, queue: ToolQueue) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            start = time.monotonic()
            answer = await self._answer(queue, request)
            self._metrics.answered(queue.tool.name, answer.status, time.monotonic() - start)
            return _send(answer)

        return handle

    async def _answer(self, queue: ToolQueue, request: web.Request) -> CallAnswer:
        if refused := queue.refusal():
            return refused  # before the body is read
        from agentgauge.core.web_server import answering

        uploads = Uploads(self._scratch, self._max_body, self._body_seconds)
        try:
            raw = protocol.RAW in request.headers.get("Accept", "")
            values = protocol.decode_fields(queue.tool, await uploads.fields(request))
            if refused := queue.refusal():
                return refused  # other calls came first
            named = _as_texts(uploads.named)
            call = QueuedCall(queue.tool.name, str(uploads.work_folder()), _as_texts(values), named, raw)
            with answering(request):
                answer = await queue.run(call, lambda: bool(request.transport and not request.transport.is_closing()))
            return answer or failure(499, "the caller has disconnected")
        except ConnectionError:
            return failure(499, "the caller has disconnected")
        except TooLarge as error:
            return failure(413, f"the body of the call is too large: {error}")
        except TooSlow as error:
            return failure(503, f"the body of the call is missing: {error}")
        except protocol.BadForm as error:
            return failure(422, error.details)
        except (UnicodeError, protocol.ProtocolError):
            return failure(400, "There was an error parsing the body")
        finally:
            uploads.remove()


def _as_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _shown(page: Callable[[], web.Response]) -> Handler:
    async def handle(_: web.Request) -> web.StreamResponse:
        return page()

    return handle


def _guard(access: Access) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Refuses requests before their body is read; closes the connection where a body was not read to its end."""

    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = access.refusal(request.path, request.headers, request.get_extra_info("sockname"))
        response = await handler(request) if refusal is None else _send(failure(refusal.status, refusal.reason))
        if not request.content.at_eof():
            # A client that says how much it sends sends all of it before it reads the answer.
            await pass_over(request, MAX_BODY if refusal is None and request.content_length else LEFT_OF_REFUSED)
            response.force_close()
        return response

    return check


def _send(answer: CallAnswer) -> web.Response:
    from aiohttp import web

    headers = {protocol.NAMES_HEADER: quote(json.dumps(answer.names), safe='[]", ')} if any(answer.names) else {}
    if answer.note:
        headers[protocol.NOTE_HEADER] = quote(answer.note, safe=" ")
    kind = protocol.RAW if answer.raw else "application/json"
    status, reason = answer.status, REASONS.get(answer.status)
    return web.Response(body=answer.body, status=status, reason=reason, content_type=kind, headers=headers)


def _json(value: Any, status: int = 200) -> web.Response:
    return _send(CallAnswer(status, encode(value)))


async def _plain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers of the web framework itself (404, 405, 413) in the protocol's form."""
    from aiohttp import web

    try:
        return await handler(request)
    except web.HTTPException as error:
        response = _send(failure(error.status, error.reason))
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except Exception as error:
        logging.getLogger("agentgauge.tools").exception("%s %s", request.method, request.path)
        return _send(failure(500, f"the tool server has a defect: {error!r}"))


async def serve(server: ToolServer, host: str, port: int, printed: Mapping[str, str] = MappingProxyType({})) -> None:
    """Serve until SIGTERM or SIGINT. ``printed``: further values to print with the address.

    Raises UsageProblem if the address cannot be used.
    """
    stop = stop_signal()
    async with running(server, given_listener() or (host, port)) as bound:
        print(json.dumps({"url": f"http://{f'[{host}]' if ':' in host else host}:{bound}", **printed}), flush=True)
        await stop.wait()


def stop_signal() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@asynccontextmanager
async def running(server: ToolServer, where: socket.socket | tuple[str, int]) -> AsyncIterator[int]:
    """Serve on a listening socket, or on a host and port; gives the port. Raises UsageProblem if the address cannot be
    used."""
    from agentgauge.core.web_server import bind, served

    try:
        sockets = [where] if isinstance(where, socket.socket) else bind(*where)
    except OSError as error:
        address = f"{where[0]}:{where[1]}" if isinstance(where, tuple) else "the socket that it was given"
        problem = f"cannot listen on {address} ({error.strerror}); choose another --port"
        raise UsageProblem(f"the tool server {problem}") from None
    # What is left of a refused body is read by us, to a bound in bytes. The original decompresses nothing either; so
    # 64 MB on the wire are 64 MB here.
    options: dict[str, Any] = {"lingering_time": 0, "auto_decompress": False}
    async with served(server.application(), sockets, shutdown_seconds=0.5, **options) as port:
        yield port
