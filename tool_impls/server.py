"""The tool server: AgentLego's HTTP protocol (GTA spec 6) in front of the tools, and ``GET /health``.

    python -m tool_impls.server --port 16181 --settings agentgauge.toml

Prints one line of JSON, ``{"url": ...}``, when it is ready, and serves until SIGTERM or SIGINT. Models load at a
tool's first call, so a run pays only for the tools that it uses.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from harness.errors import AgentGaugeError, Fault, UsageProblem
from harness.services import end_with_parent
from tool_impls import media, protocol
from tool_impls.availability import check
from tool_impls.base import DISABLED, UNAVAILABLE, BenchTool
from tool_impls.openapi import write_document
from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings, load

if TYPE_CHECKING:
    from aiohttp import web

MAX_BODY = 64 * 2**20  # bytes
QUEUE = 256  # calls of one tool that may wait or run
REASONS = {422: "Unprocessable Entity"}  # newer Pythons word it differently, and clients quote it


class Station:
    """One tool on the server: its instance, its queue and its state."""

    def __init__(self, tool: BenchTool, state: str, queue: int) -> None:
        self.tool = tool
        self.state = state
        self.busy = 0  # calls that wait or run
        self.threads: set[int] = set()  # those inside the tool; they outlive a call whose client is gone
        self._queue = queue
        self._slots = asyncio.Semaphore(tool.concurrency)
        self._loading = threading.Lock()
        self._loaded = False

    async def call(self, pool: ThreadPoolExecutor, scratch: Path, values: Mapping[str, Any]) -> Any:
        """The decoded JSON answer. Raises what the tool raises, and asyncio.QueueFull where too many calls wait."""
        if self.busy >= self._queue:
            raise asyncio.QueueFull
        self.busy += 1
        try:
            async with self._slots:
                return await asyncio.get_running_loop().run_in_executor(pool, self._work, scratch, values)
        finally:
            self.busy -= 1

    def _work(self, scratch: Path, values: Mapping[str, Any]) -> Any:
        self.threads.add(threading.get_ident())
        try:
            with self._loading:
                if not self._loaded:
                    self.tool.setup()
                    self._loaded = True
            with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as name:
                uploads, folder = Path(name, "in"), Path(name, "work")
                uploads.mkdir()
                folder.mkdir()
                result = self.tool.apply(folder, **media.open_inputs(self.tool.meta, values, uploads))
                return media.encode_results(self.tool.meta, result)
        finally:
            self.threads.discard(threading.get_ident())


class ToolServer:
    """A web application that offers tools. ``states`` as of ``availability.check``; a tool without one is ready."""

    def __init__(
        self, tools: Sequence[BenchTool], states: Mapping[str, str] | None = None, *, queue: int = QUEUE, max_body: int = MAX_BODY
    ) -> None:
        self._stations = {tool.meta.name: Station(tool, (states or {}).get(tool.meta.name, "ready"), queue) for tool in tools}
        self._document = write_document([tool.meta for tool in tools])
        self._max_body = max_body
        self._scratch = Path()  # set while the application runs
        self._pool = ThreadPoolExecutor(max(4, sum(tool.concurrency for tool in tools)), thread_name_prefix="tool")

    @property
    def idle(self) -> bool:
        """Whether no thread is inside a tool."""
        return not any(station.threads for station in self._stations.values())

    def application(self) -> web.Application:
        from aiohttp import web

        app = web.Application(client_max_size=self._max_body, middlewares=[web.middleware(_plain_errors)])
        app.router.add_get("/", self._root, allow_head=False)
        app.router.add_get("/openapi.json", self._specification, allow_head=False)
        app.router.add_get("/health", self._health, allow_head=False)
        for station in self._stations.values():
            app.router.add_post(f"/{protocol.path_name(station.tool.meta)}", self._handler(station))
        app.cleanup_ctx.append(self._resources)
        return app

    async def _resources(self, _: web.Application) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="agentgauge-tools-", ignore_cleanup_errors=True) as scratch:
            self._scratch = Path(scratch)
            yield
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _root(self, _: web.Request) -> web.StreamResponse:
        from aiohttp import web

        return web.Response(status=307, headers={"Location": "/openapi.json"})

    async def _specification(self, _: web.Request) -> web.StreamResponse:
        return _json(self._document)

    async def _health(self, _: web.Request) -> web.StreamResponse:
        return _json({"status": "ok", "tools": {name: station.state for name, station in self._stations.items()}})

    def _handler(self, station: Station) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        name = station.tool.meta.name

        async def handle(request: web.Request) -> web.StreamResponse:
            if station.state == DISABLED:
                return _failure(400, f"{name} is disabled in this run: take it out of disable in [tools] of the settings to enable it")
            if station.state.startswith(UNAVAILABLE):
                return _failure(503, f"{name} is {station.state}")
            try:
                values = protocol.decode_fields(station.tool.meta, await self._fields(request))
            except protocol.BadForm as error:
                return _failure(422, error.details)
            except (UnicodeError, protocol.ProtocolError):
                return _failure(400, "There was an error parsing the body")
            try:
                return _json(await station.call(self._pool, self._scratch, values))
            except asyncio.QueueFull:
                return _failure(503, f"{name} has {station.busy} calls waiting, which is its limit; try again, or lower --in-flight")
            except (Fault, UsageProblem) as error:
                return _failure(500, str(error))
            except TimeoutError as error:
                return _failure(408, repr(error))
            except Exception as error:  # whatever the tool raises is an answer to the model, as in AgentLego
                return _failure(400, repr(error))

        return handle

    async def _fields(self, request: web.Request) -> dict[str, str | bytes]:
        """The form of a request: texts, and bytes for parts with a file name. Other content types have no fields."""
        if request.content_type == protocol.URLENCODED:
            body = await request.read()
            return dict(parse_qsl(body.decode(), keep_blank_values=True))
        if request.content_type == protocol.MULTIPART:
            return await self._parts(request)
        return {}

    async def _parts(self, request: web.Request) -> dict[str, str | bytes]:
        from aiohttp import BodyPartReader, web

        fields: dict[str, str | bytes] = {}
        size = 0
        try:
            reader = await request.multipart()
            while (part := await reader.next()) is not None:
                if not isinstance(part, BodyPartReader) or part.name is None:
                    raise protocol.ProtocolError("a part of the form has no name")
                data = bytearray()
                while chunk := await part.read_chunk(2**16):
                    size += len(chunk)
                    if size > self._max_body:
                        raise web.HTTPRequestEntityTooLarge(self._max_body, size)
                    data += chunk
                fields[part.name] = bytes(data) if part.filename is not None else _text(bytes(data))
        except (ValueError, AssertionError) as error:  # what aiohttp raises for a form that it cannot read
            raise protocol.ProtocolError(str(error)) from None
        return fields


def _text(data: bytes) -> str:
    """UTF-8, or one character a byte where it is something else, so that a wrong field gets a 422 rather than a failure."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _json(value: Any, status: int = 200) -> web.Response:
    from aiohttp import web

    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return web.Response(body=body, status=status, reason=REASONS.get(status), content_type="application/json")


def _failure(status: int, detail: Any) -> web.Response:
    return _json({"detail": detail}, status)


async def _plain_errors(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
    """Answers of the web framework itself (404, 405, 413) in the protocol's form."""
    from aiohttp import web

    try:
        return await handler(request)
    except web.HTTPException as error:
        response = _failure(error.status, error.reason)
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
        return response


def build(settings: ToolSettings, names: Sequence[str] | None = None) -> ToolServer:
    """A server with the named tools (all by default). Raises UsageProblem for an unknown name."""
    states = check(settings, names)
    return ToolServer([TOOLS[name](settings) for name in states], states)


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
        site = web.TCPSite(runner, host, port, reuse_address=True, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise UsageProblem(f"the tool server cannot listen on {host}:{port} ({error.strerror}); choose another --port") from None
        bound = runner.addresses[0]
        print(json.dumps({"url": f"http://{f'[{host}]' if ':' in host else host}:{bound[1]}"}), flush=True)
        await stop.wait()
    finally:
        await runner.cleanup()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="agentgauge serve-tools",
        description="Serve the real tools over HTTP, for runs on this machine and for AgentLego clients.",
        epilog="example: agentgauge serve-tools --port 16181 --settings agentgauge.toml --tools OCR,Calculator",
    )
    made.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    made.add_argument("--port", type=int, default=16181, help="port to listen on, 0 for any free one (default: %(default)s)")
    made.add_argument("--settings", type=Path, metavar="FILE.toml", help="file whose [tools] table says what the tools may use")
    made.add_argument("--tools", metavar="A,B", help="names of the tools to serve (default: all)")
    made.add_argument("--allow-unsafe-code", action="store_true", help="run code of models even where the sandbox lacks protection")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``serve-tools``. Returns the exit status: 0 after a signal, 4 for wrong usage."""
    arguments = parser().parse_args(argv)
    end_with_parent()
    try:
        settings = load(arguments.settings) if arguments.settings else ToolSettings()
        settings = replace(settings, allow_unsafe=arguments.allow_unsafe_code)
        names = [name.strip() for name in arguments.tools.split(",") if name.strip()] if arguments.tools else None
        asyncio.run(_run(settings, names, arguments.host, arguments.port))
    except AgentGaugeError as error:
        print(error, file=sys.stderr)
        return 4
    return 0


async def _run(settings: ToolSettings, names: Sequence[str] | None, host: str, port: int) -> None:
    server = build(settings, names)
    await serve(server, host, port)
    if not server.idle:
        os._exit(0)  # Python would wait for threads that are in the middle of a call


if __name__ == "__main__":
    sys.exit(main())
