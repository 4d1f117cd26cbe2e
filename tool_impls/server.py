"""The tool server: AgentLego's HTTP protocol (GTA spec 6) in front of the tools, and four addresses of its own.

    agentgauge serve-tools --port 16181 --settings agentgauge.toml

``GET /health`` (it runs), ``/ready`` (what was to be loaded is loaded), ``/tools`` (fingerprints) and ``/metrics`` (Prometheus).
It prints one line of JSON, ``{"url": ...}``, when it listens, and serves until SIGTERM or SIGINT. The work is done in
processes (``tool_impls.crew``): a few for light tools, one for each device for tools with models. A tool's model loads
at its first call, so a run pays only for the tools that it uses.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness.errors import UsageProblem
from harness.services import BACKLOG, given_listener
from harness.tools import Tool
from tool_impls import protocol
from tool_impls.base import DISABLED, UNAVAILABLE
from tool_impls.forms import Uploads
from tool_impls.metrics import CONTENT_TYPE, Metrics
from tool_impls.openapi import write_document
from tool_impls.work import Answer, Order, encode, failure

if TYPE_CHECKING:
    from aiohttp import web

    from tool_impls.crew import Crew

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY = 64 * 2**20  # bytes
REASONS = {422: "Unprocessable Entity"}  # newer Pythons word it differently, and clients quote it
OPEN = frozenset({"/health", "/ready"})  # without a token: for whoever watches the server


class Station:
    """One tool on the server: its state, its crew and its queue. ``places``: calls at work at a time, in all processes."""

    def __init__(self, tool: Tool, state: str, crew: Crew, *, places: int, queue: int, seconds: float) -> None:
        self.tool = tool
        self.state = state
        self.crew = crew
        self.calls = 0  # those that wait or run
        self.running = 0
        self.queue = queue
        self._seconds = seconds
        self._places = asyncio.Semaphore(places)

    @property
    def works(self) -> bool:
        return not self.state.startswith((DISABLED, UNAVAILABLE))

    @property
    def waiting(self) -> int:
        return self.calls - self.running

    async def call(self, order: Order, wanted: Callable[[], bool]) -> Answer | None:
        """The answer; None where nobody wants it any more when its turn comes."""
        async with self._places:
            if not wanted():
                return None
            self.running += 1
            try:
                return await self.crew.run(order, self._seconds)
            finally:
                self.running -= 1


class ToolServer:
    """A web application that offers tools. ``fingerprints`` tells what ``/tools`` shows. ``preload``: load all models at start."""

    def __init__(
        self,
        stations: Sequence[Station],
        metrics: Metrics,
        scratch: Path,
        *,
        fingerprints: Callable[[], Mapping[str, Any]] = dict,
        token: str | None = None,
        preload: bool = False,
        max_body: int = MAX_BODY,
    ) -> None:
        self._stations = {station.tool.name: station for station in stations}
        self._document = write_document([station.tool for station in stations])
        self._metrics = metrics
        self._scratch = scratch
        self._fingerprints = fingerprints
        self._token = token
        self._preload = preload
        self._loading: dict[str, str] = {}  # tools whose models are to be loaded, and what became of it
        self._max_body = max_body
        for station in stations:
            metrics.add_tool(station.tool.name, partial(getattr, station, "waiting"), partial(getattr, station, "running"))

    def application(self) -> web.Application:
        from aiohttp import web

        layers: list[Any] = [web.middleware(_plain_errors), web.middleware(_guard(self._token))]
        app = web.Application(client_max_size=self._max_body, middlewares=layers)
        app.router.add_get("/", self._root, allow_head=False)
        app.router.add_get("/openapi.json", self._specification, allow_head=False)
        app.router.add_get("/health", self._health, allow_head=False)
        app.router.add_get("/ready", self._ready, allow_head=False)
        app.router.add_get("/tools", self._tools, allow_head=False)
        app.router.add_get("/metrics", self._figures, allow_head=False)
        for station in self._stations.values():
            app.router.add_post(f"/{protocol.path_name(station.tool)}", self._handler(station))
        app.cleanup_ctx.append(self._resources)
        return app

    async def _resources(self, _: web.Application) -> AsyncIterator[None]:
        self._scratch.mkdir(parents=True, exist_ok=True)
        loading = asyncio.create_task(self._load()) if self._preload else None
        yield
        if loading is not None:
            loading.cancel()
        await asyncio.gather(*(crew.close() for crew in {station.crew for station in self._stations.values()}))
        shutil.rmtree(self._scratch, ignore_errors=True)

    async def _load(self) -> None:
        wanted = [station for station in self._stations.values() if station.works]
        self._loading = {station.tool.name: "loading" for station in wanted}
        for station in wanted:
            answer = await station.crew.load(station.tool.name)
            if answer.status == 200:
                del self._loading[station.tool.name]
            else:
                self._loading[station.tool.name] = json.loads(answer.body)["detail"]

    async def _root(self, _: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.Response(status=307, headers={"Location": "/openapi.json"})

    async def _specification(self, _: web.Request) -> web.StreamResponse:
        return _json(self._document)

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return _json({"status": "ok", "tools": {name: station.state for name, station in self._stations.items()}})

    async def _ready(self, _: web.Request) -> web.StreamResponse:
        return _json({"ready": not self._loading, "waiting_for": self._loading}, 503 if self._loading else 200)

    async def _tools(self, _: web.Request) -> web.StreamResponse:
        return _json(await asyncio.to_thread(self._fingerprints))  # it may read gigabytes of weights

    async def _figures(self, _: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    def _handler(self, station: Station) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            start = time.monotonic()
            answer = await self._answer(station, request)
            self._metrics.answered(station.tool.name, answer.status, time.monotonic() - start)
            return _send(answer)

        return handle

    async def _answer(self, station: Station, request: web.Request) -> Answer:
        from aiohttp import web

        name = station.tool.name
        if station.state.startswith(DISABLED):
            reason = station.state.partition(": ")[2] or "take it out of disable in [tools] of the settings to enable it"
            return failure(400, f"{name} is disabled in this run: {reason}")
        if not station.works:
            return failure(503, f"{name} is {station.state}")
        if station.calls >= station.queue:
            return failure(503, f"{name} has {station.calls} calls waiting, which is its limit; try again, or lower --in-flight")
        station.calls += 1
        uploads = Uploads(self._scratch, self._max_body)
        try:
            raw = protocol.RAW in request.headers.get("Accept", "")
            values = protocol.decode_fields(station.tool, await uploads.fields(request))
            work = uploads.work_folder()
            order = Order(name, str(work), _as_texts(values), {path: str(place) for path, place in uploads.named.items()}, raw)
            answer = await station.call(order, lambda: request.transport is not None and not request.transport.is_closing())
            return answer or failure(499, "the caller has gone")
        except web.HTTPRequestEntityTooLarge as error:
            self._metrics.answered(name, error.status, 0.0)
            raise  # the framework knows how to end a request that is not read to its end
        except protocol.BadForm as error:
            return failure(422, error.details)
        except (UnicodeError, protocol.ProtocolError):
            return failure(400, "There was an error parsing the body")
        finally:
            station.calls -= 1
            uploads.remove()


def _as_texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _guard(token: str | None) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Refuses requests without the token, if there is one: as a bearer token, or as the password of basic authentication."""

    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if token is None or request.path in OPEN or _same(token, request.headers.get("Authorization", "")):
            return await handler(request)
        return _send(failure(401, f"this tool server wants a token; set {protocol.TOKEN} to the server's"))

    return check


def _same(token: str, header: str) -> bool:
    """Whether an Authorization header holds the token."""
    import base64
    import binascii

    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    return scheme.lower() in ("basic", "bearer") and hmac.compare_digest(value.encode(), token.encode())


def _send(answer: Answer) -> web.Response:
    from aiohttp import web

    names = {protocol.NAMES_HEADER: quote(json.dumps(answer.names), safe='[]", ')} if any(answer.names) else None
    kind = protocol.RAW if answer.raw else "application/json"
    return web.Response(body=answer.body, status=answer.status, reason=REASONS.get(answer.status), content_type=kind, headers=names)


def _json(value: Any, status: int = 200) -> web.Response:
    return _send(Answer(status, encode(value)))


async def _plain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answers of the web framework itself (404, 405, 413) in the protocol's form."""
    from aiohttp import web

    try:
        return await handler(request)
    except web.HTTPException as error:
        response = _send(failure(error.status, error.reason))
        if error.status == 413:
            response.force_close()  # what is left of the body is no request
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response
    except Exception as error:
        logging.getLogger("agentgauge.tools").exception("%s %s", request.method, request.path)
        return _send(failure(500, f"the tool server has a defect: {error!r}"))


async def serve(server: ToolServer, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT. Raises UsageProblem where the address cannot be used."""
    from aiohttp import web

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        given = given_listener()
        site = (
            web.SockSite(runner, given, backlog=BACKLOG) if given else web.TCPSite(runner, host, port, reuse_address=True, backlog=BACKLOG)
        )
        try:
            await site.start()
        except OSError as error:
            raise UsageProblem(f"the tool server cannot listen on {host}:{port} ({error.strerror}); choose another --port") from None
        bound = runner.addresses[0]
        print(json.dumps({"url": f"http://{f'[{host}]' if ':' in host else host}:{bound[1]}"}), flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()
