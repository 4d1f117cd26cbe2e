"""The server that an agent program reaches: the model and the tools of its case, and nothing else. An agent that runs
inside a project's own test reaches the model in the same way.

``GET /v1/models``, ``POST /v1/chat/completions`` as OpenAI has them; ``GET /tools``, the tools as OpenAI functions, and
``POST /tools/NAME`` with the arguments as the body. Every request carries the bearer token of one session, such as a
call of the agent, which is valid while the program runs. No provider's key is here: requests go through the case's own
client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agentgauge.agent.loop import shown
from agentgauge.agent.native import function_schema
from agentgauge.core.capabilities import ToolUse
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import AgentGaugeError, Fault
from agentgauge.core.tools import Tool
from agentgauge.run.external_agent.chat_form import AgentRequest, Refused, chunks, completion, error, read_body
from agentgauge.run.external_agent.session import arguments_text

if TYPE_CHECKING:
    from aiohttp import web

MOST_BODY = 32 << 20
"""Bytes of a request, pictures included."""

_FINAL = {"x-should-retry": "false"}  # OpenAI's clients ask again otherwise; AgentGauge has


class ProgramSession(Protocol):
    """The requests that a program may send, and those that are running."""

    requests: int  # to the model so far
    running: set[asyncio.Task[object]]
    at_once: asyncio.Semaphore
    passes_all: ClassVar[bool]  # whether fields of a request that are not known are forwarded to the model

    @property
    def model(self) -> str: ...

    @property
    def tools(self) -> Sequence[Tool]: ...

    def receive(self, content: bytes) -> bytes: ...

    async def ask(self, agent_request: AgentRequest) -> ChatReply: ...

    async def use(self, name: str, arguments: str) -> ToolUse: ...


class AgentEndpoint:
    """Serves the agents of one worker, at a port of localhost. Belongs to one event loop."""

    def __init__(self) -> None:
        self._sessions: dict[str, ProgramSession] = {}
        self._served = contextlib.AsyncExitStack()

    async def start(self) -> int:
        """Listen at a free port of 127.0.0.1, which is returned."""
        from aiohttp import web

        from agentgauge.core.web_server import bind, served

        app = web.Application(client_max_size=MOST_BODY, middlewares=[web.middleware(_as_json)])
        app.router.add_get("/v1/models", self._handling(self._models))
        app.router.add_post("/v1/chat/completions", self._handling(self._complete))
        app.router.add_get("/tools", self._handling(self._tools))
        app.router.add_post("/tools/{name}", self._handling(self._use))
        return await self._served.enter_async_context(served(app, bind("127.0.0.1", 0)))

    def open(self, session: ProgramSession) -> str:
        """Returns the token of a session."""
        token = secrets.token_urlsafe(32)
        self._sessions[token] = session
        return token

    async def end(self, token: str) -> None:
        """Refuse the token from now on, and cancel its open requests: the program has ended, and must not cost more."""
        if session := self._sessions.pop(token, None):
            for task in session.running:
                task.cancel()
            await asyncio.gather(*session.running, return_exceptions=True)

    async def close(self) -> None:
        await self._served.aclose()

    def _handling(
        self, answer: Callable[[ProgramSession, web.Request, bytes], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        from agentgauge.core.web_server import answering, whole_body

        async def handle(request: web.Request) -> web.StreamResponse:
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            session = self._sessions.get(token.strip()) if scheme.lower() == "bearer" else None
            if session is None:
                raise Refused("this token is not valid, or no longer valid", 401, "invalid_api_key")
            task = asyncio.current_task()
            assert task is not None
            session.running.add(task)
            try:
                with answering(request):
                    async with session.at_once:
                        return await answer(session, request, await whole_body(request))
            finally:
                session.running.discard(task)

        return handle

    async def _models(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        model = {"id": session.model, "object": "model", "created": 0, "owned_by": "agentgauge"}
        return _json({"object": "list", "data": [model]})

    async def _complete(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        from aiohttp import web

        agent_request = read_body(session.receive(body), session.model, passes_all=session.passes_all)
        reply = await session.ask(agent_request)
        if not agent_request.stream:
            return _json(completion(reply, session.model, session.requests))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in chunks(reply, session.model, session.requests, usage=agent_request.wants_usage):
            await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _tools(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        return _json({"tools": [function_schema(tool) for tool in session.tools]})

    async def _use(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        arguments = arguments_text(session.receive(body))
        use = await session.use(request.match_info["name"], arguments)
        if use.outputs is None:
            return _json(error(use.message, use.problem), status=422)
        outputs = [{"type": output.type, "content": output.content} for output in use.outputs]
        text = "\n".join(shown(output.type, output.content) for output in use.outputs)
        return _json({"outputs": outputs, "text": text})


async def _as_json(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Every error in OpenAI's form."""
    from aiohttp import web

    try:
        return await handler(request)
    except Refused as refused:
        return _json(error(str(refused), refused.code), status=refused.status, headers=_FINAL)
    except AgentGaugeError as fault:
        code = fault.cause if isinstance(fault, Fault) else "server_error"
        return _json(error(str(fault), code), status=502, headers=_FINAL)
    except web.HTTPException as problem:
        why = {
            404: "there is nothing at this address",
            408: "the body of the request did not arrive in time",
            413: f"a request may have {MOST_BODY >> 20} MiB",
        }
        text = why.get(problem.status, problem.reason)
        return _json(error(text, "invalid_request"), status=problem.status, headers=_FINAL)


def _json(data: Any, **more: Any) -> web.Response:
    from aiohttp import web

    return web.json_response(data, **more)
