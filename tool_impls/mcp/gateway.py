"""The gateway: sessions by streamable HTTP at one address, each reached by a token of its own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from mcp.server import ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agentgauge.core.capabilities import OfferedTools
from agentgauge.core.errors import UsageProblem
from agentgauge.core.service_process import BACKLOG
from tool_impls.mcp.server import make_server
from tool_impls.mcp.session import OpenSession, Session
from tool_impls.server.access import WITHOUT_TOKEN, Access

PATH = "/mcp"
MOST_BODY = 4 << 20  # bytes of a request
_SESSION = "agentgauge.session"  # where the guard puts a request's session
_IDLE_SECONDS = 75  # for a connection to lie idle
_CLOSING_SECONDS = 1


class Gateway:
    """A server on this machine. ``start`` makes one; ``close`` ends it."""

    def __init__(self, listener: socket.socket, host: str, access: Access) -> None:
        """In the event loop that serves."""
        self.port: int = listener.getsockname()[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}{PATH}"
        self._access = access
        self._sessions: dict[str, OpenSession] = {}
        config = uvicorn.Config(
            self._application(),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
        self._server = _Quiet(config)
        self._serving = asyncio.create_task(self._server.serve(sockets=[listener]))

    @classmethod
    async def start(cls, *, host: str = "127.0.0.1", port: int = 0, access: Access = WITHOUT_TOKEN) -> Gateway:
        """Listen on an address; port 0 is any free one. ``access``: further names of the host; its token is not used,
        since each session has its own. Raises UsageProblem if the address cannot be used."""
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            problem = f"cannot listen on {host}:{port} ({error.strerror}); choose another --port"
            raise UsageProblem(f"the MCP gateway {problem}") from None
        return cls(listener, host, access)

    def open(self, session: Session, token: str | None = None) -> str:
        """Offer a session; the token that reaches it, which is new if none is given."""
        token = token or secrets.token_urlsafe(32)
        self._sessions[token] = OpenSession(session)
        return token

    def offer(self, offered: OfferedTools, token: str) -> None:
        """As ``open``, for an agent program. Its token, one of many, is not kept as a secret: it ends with the call."""
        self._sessions[token] = OpenSession(Session(offered.tools, offered.call, offered.files, offered.refused))

    def close_session(self, token: str) -> None:
        """Cancel the calls of a session, and refuse its token from now on."""
        if closed := self._sessions.pop(token, None):
            closed.close()

    async def close(self) -> None:
        """End the server and its running calls."""
        for token in list(self._sessions):
            self.close_session(token)
        self._server.should_exit = True
        await self._serving

    def _application(self) -> ASGIApp:
        server = make_server(_session_of)
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # ``_guarded`` has checked it
        inner = server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            max_request_body_size=MOST_BODY,
            transport_security=unchecked,
        )

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                found = self._admitted(scope)
                if isinstance(found, JSONResponse):
                    await found(scope, receive, send)
                    return
                scope[_SESSION] = found
            await inner(scope, receive, send)

        return guarded

    def _admitted(self, scope: Scope) -> OpenSession | JSONResponse:
        """The session of a request, or the answer to one that is refused, before its body is read."""
        headers = Headers(scope=scope)
        if refusal := self._access.refusal(PATH, headers, tuple(scope["server"])):
            return JSONResponse({"error": refusal.reason}, refusal.status)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        session = self._sessions.get(token) if scheme.lower() == "bearer" else None
        if session is None:
            reason = "a session's token is required, as Authorization: Bearer TOKEN"
            return JSONResponse({"error": reason}, 401, {"WWW-Authenticate": "Bearer"})
        return session


class _Quiet(uvicorn.Server):
    """A server that leaves signals to the program that it runs in."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _session_of(context: ServerRequestContext[Any, Any]) -> OpenSession:
    assert context.request is not None, "every request of this server comes by HTTP"
    found: OpenSession = context.request.scope[_SESSION]
    return found
