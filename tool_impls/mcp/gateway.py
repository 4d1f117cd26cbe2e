"""The gateway: sessions by streamable HTTP at one address, each reached by a token of its own; and ``--mcp``."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aiohttp import web
from mcp.server import ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from agentgauge.core.agents import OfferedTools
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import OwnFolder
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.web_server import answering, bind, served, whole_body
from tool_impls.mcp.server import make_server
from tool_impls.mcp.session import OpenSession, ToolSession, files_below
from tool_impls.server.app import ToolServer, running, stop_signal
from tool_impls.server.client import ToolServerBox
from tool_impls.server.requests import WITHOUT_TOKEN, Access

PATH = "/mcp"
MOST_BODY = 4 << 20  # bytes of a request
_SESSION = "agentgauge.session"  # where a request's scope has its session


class Gateway:
    """A server on this machine. ``start`` makes one; ``close`` ends it."""

    def __init__(self, sockets: Sequence[socket.socket], host: str, access: Access) -> None:
        """In the event loop that serves."""
        self.port: int = sockets[0].getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}{PATH}"
        self._access = access
        self._sessions: dict[str, OpenSession] = {}
        self._ending = asyncio.Event()
        self._serving = asyncio.create_task(self._serve(sockets))

    @classmethod
    async def start(cls, *, host: str = "127.0.0.1", port: int = 0, access: Access = WITHOUT_TOKEN) -> Gateway:
        """Listen on an address; port 0 is any free one. ``access``: further names of the host; its token is not used,
        since each session has its own. Raises UsageProblem if the address cannot be used."""
        try:
            return cls(bind(host, port), host, access)
        except OSError as error:
            problem = f"cannot listen on {host}:{port} ({error.strerror}); choose another --port"
            raise UsageProblem(f"the MCP gateway {problem}") from None

    def open(self, session: ToolSession, token: str | None = None) -> str:
        """Offer a session; the token that reaches it, which is new if none is given."""
        token = token or secrets.token_urlsafe(32)
        self._sessions[token] = OpenSession(session)
        return token

    def offer(self, offered: OfferedTools, token: str) -> None:
        """As ``open``, for an agent program. Its token, one of many, is not kept as a secret: it ends with the call."""
        self._sessions[token] = OpenSession(ToolSession(offered.tools, offered.call, offered.files, offered.refused))

    def close_session(self, token: str) -> None:
        """Cancel the calls of a session, and refuse its token from now on."""
        if closed := self._sessions.pop(token, None):
            closed.close()

    async def close(self) -> None:
        """End the server and its running calls."""
        for token in list(self._sessions):
            self.close_session(token)
        self._ending.set()
        await self._serving

    async def _serve(self, sockets: Sequence[socket.socket]) -> None:
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # ``_admitted`` has checked it
        manager = StreamableHTTPSessionManager(
            make_server(_session_of), stateless=True, max_request_body_size=MOST_BODY, security_settings=unchecked
        )

        async def answer(request: web.Request) -> web.StreamResponse:
            found = self._admitted(request)
            if isinstance(found, web.Response):
                return found
            if request.path != PATH:
                return web.json_response({"error": f"the protocol is served at {PATH}"}, status=404)
            with answering(request):
                return await _by_asgi(request, found, manager.handle_request)

        app = web.Application(client_max_size=MOST_BODY)
        app.router.add_route("*", "/{path:.*}", answer)
        async with manager.run(), served(app, sockets, handler_cancellation=True):
            await self._ending.wait()

    def _admitted(self, request: web.Request) -> OpenSession | web.Response:
        """The session of a request, or the answer to one that is refused, before its body is read."""
        if refusal := self._access.refusal(PATH, request.headers, request.get_extra_info("sockname")):
            return web.json_response({"error": refusal.reason}, status=refusal.status)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        session = self._sessions.get(token) if scheme.lower() == "bearer" else None
        if session is None:
            reason = "a session's token is required, as Authorization: Bearer TOKEN"
            return web.json_response({"error": reason}, status=401, headers={"WWW-Authenticate": "Bearer"})
        return session


async def _by_asgi(
    request: web.Request, session: OpenSession, handle: Callable[[Any, Any, Any], Awaitable[None]]
) -> web.StreamResponse:
    """The answer of an ASGI application. The request is cancelled when its client disconnects."""
    body: list[bytes] = [await whole_body(request)]
    response = web.StreamResponse()

    async def receive() -> dict[str, Any]:
        if not body:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": body.pop(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            response.set_status(message["status"])
            for name, value in message.get("headers", ()):
                response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
            await response.prepare(request)
        elif part := message.get("body"):
            await response.write(part)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "root_path": "",
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode(),
        "query_string": request.query_string.encode(),
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": request.get_extra_info("peername"),
        "server": request.get_extra_info("sockname"),
        _SESSION: session,
    }
    await handle(scope, receive, send)
    return response


def _session_of(context: ServerRequestContext[Any, Any]) -> OpenSession:
    assert context.request is not None, "every request of this server comes by HTTP"
    found: OpenSession = context.request.scope[_SESSION]
    return found


# -- ``agentgauge serve-tools --mcp``: an ordinary tool server behind one session


def session_of(box: ToolBox, tools: Sequence[Tool], folder: Path, files: Mapping[str, Path]) -> ToolSession:
    """A session whose calls go to a tool box, which puts the files that it makes below ``folder``."""
    readable = tuple(files.values())

    async def call(name: str, arguments: Mapping[str, Any]) -> Sequence[ToolOutput]:
        return await box.call(name, arguments, folder=folder, readable=readable)

    return ToolSession(tools, call, files)


async def serve_mcp(
    server: ToolServer, access: Access, address: tuple[str, int] | None, files: Path | None, printed: Mapping[str, str]
) -> None:
    """Serve until SIGTERM or SIGINT at an address, which is printed with ``printed`` as one line of JSON; without one
    over standard input and output, until the client closes them.

    ``access``: that of the tool server, whose token is the client's, too. Raises UsageProblem for an address that
    cannot be used.
    """
    async with running(server, ("127.0.0.1", 0)) as port:
        if address is None:
            async with _opened(server, port, access, files) as session:
                await _serve_streams(session)
            return
        stop = stop_signal()
        host, wanted = address
        gateway = await Gateway.start(host=host, port=wanted, access=Access(names=access.names))
        # before the tool server has a client: from then on the token is a secret, which is not printed
        print(json.dumps({"url": gateway.url, **printed, "tool_server": f"http://127.0.0.1:{port}"}), flush=True)
        async with _opened(server, port, access, files) as session:
            gateway.open(session, access.token)
            await stop.wait()
            await gateway.close()


@asynccontextmanager
async def _opened(server: ToolServer, port: int, access: Access, files: Path | None) -> AsyncIterator[ToolSession]:
    """The session of the client, whose calls go to the tool server at a port of this machine."""
    folder = OwnFolder("tools").path  # for files that tools make; that of a killed server is removed by the next one
    box = ToolServerBox(f"http://:{quote(access.token or '', safe='')}@127.0.0.1:{port}")
    try:
        yield session_of(box, server.working, folder, files_below(files) if files else {})
    finally:
        await box.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _serve_streams(session: ToolSession) -> None:
    opened = OpenSession(session)
    server = make_server(lambda context: opened)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
