"""The server at which programs reach a model: an agent program the model and the tools of its case, an agent inside a
project's own test the run's model, and a program that has the address the model of ``agentgauge serve-model``.

``GET /v1/models``, ``POST /v1/chat/completions`` as OpenAI has them; ``GET /tools``, the tools as OpenAI functions, and
``POST /tools/NAME`` with the arguments as the body. Every request carries the bearer token of one session, such as a
call of the agent, which is valid while the program runs. No provider's key is here: a session asks the model's own
client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agentgauge.agent.loop import shown
from agentgauge.agent.native import function_schema
from agentgauge.core.agents import ToolUse
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import AgentGaugeError, Fault
from agentgauge.core.tools import Tool
from agentgauge.run.chat_form import (
    Forwarded,
    ProgramRequest,
    Refused,
    arguments_text,
    chunks,
    completion,
    error,
    read_body,
)

if TYPE_CHECKING:
    from aiohttp import web

MOST_BODY = 32 << 20
"""Bytes of a request, pictures included."""

CASE_HEADER = "x-agentgauge-case"
"""Names the case of a request: ``CaseKey.path``. Only embedded models outside of runs answer by it."""

_FINAL = {"x-should-retry": "false"}  # OpenAI's clients ask again otherwise; AgentGauge has


async def _no_tool(name: str, arguments: str) -> ToolUse:
    raise Refused("there are no tools at this address", 404)


@dataclass(slots=True, eq=False)
class ProgramSession:
    """What the requests of one program reach, or of all programs that have its token. The functions raise Refused for
    what they do not pass on, and Fault."""

    model: str  # its name
    ask: Callable[[ProgramRequest], Awaitable[ChatReply]]
    at_once: InitVar[int]  # requests; further ones wait
    forwarded: Forwarded
    any_name: bool = False  # a request may name another model
    tools: Sequence[Tool] = ()
    use: Callable[[str, str], Awaitable[ToolUse]] = _no_tool  # by name, with arguments as JSON text
    receive: Callable[[bytes], None] | None = None  # called with the body of each request
    requests: int = 0  # to the model so far
    running: set[asyncio.Task[object]] = field(default_factory=set)
    slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self, at_once: int) -> None:
        self.slots = asyncio.Semaphore(at_once)


class EndpointProxy:
    """Serves sessions at a port of localhost. Belongs to one event loop."""

    def __init__(self, public: ProgramSession | None = None, *, cancels: bool = False) -> None:
        """``public``: the session of requests without a token, or with one that is not known. ``cancels``: a request
        ends when its client has left; else its reply is awaited, so that what it cost is counted."""
        self._public = public
        self._cancels = cancels
        self._sessions: dict[str, ProgramSession] = {}
        self._served = contextlib.AsyncExitStack()

    async def start(self, port: int = 0) -> int:
        """Listen at a port of 127.0.0.1, which is returned; 0 is any free one. Raises OSError."""
        from aiohttp import web

        from agentgauge.core.web_server import bind, served

        app = web.Application(client_max_size=MOST_BODY, middlewares=[web.middleware(_as_json)])
        app.router.add_get("/v1/models", self._handling(self._models))
        app.router.add_post("/v1/chat/completions", self._handling(self._complete))
        app.router.add_get("/tools", self._handling(self._tools))
        app.router.add_post("/tools/{name}", self._handling(self._use))
        serving = served(app, bind("127.0.0.1", port), handler_cancellation=self._cancels)
        return await self._served.enter_async_context(serving)

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
            found = self._sessions.get(token.strip()) if scheme.lower() == "bearer" else None
            session = found or self._public
            if session is None:
                raise Refused("this token is not valid, or no longer valid", 401, "invalid_api_key")
            task = asyncio.current_task()
            assert task is not None
            session.running.add(task)
            try:
                with answering(request):
                    async with session.slots:
                        body = await whole_body(request)
                        if session.receive:
                            session.receive(body)
                        return await answer(session, request, body)
            finally:
                session.running.discard(task)

        return handle

    async def _models(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        model = {"id": session.model, "object": "model", "created": 0, "owned_by": "agentgauge"}
        return _json({"object": "list", "data": [model]})

    async def _complete(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        from aiohttp import web

        name = None if session.any_name else session.model
        asked = read_body(body, name, session.forwarded)
        session.requests += 1
        number = session.requests
        reply = await session.ask(replace(asked, case=request.headers.get(CASE_HEADER, "")))
        if not asked.stream:
            return _json(completion(reply, session.model, number))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in chunks(reply, session.model, number, usage=asked.wants_usage):
            await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    async def _tools(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        return _json({"tools": [function_schema(tool) for tool in session.tools]})

    async def _use(self, session: ProgramSession, request: web.Request, body: bytes) -> web.StreamResponse:
        use = await session.use(request.match_info["name"], arguments_text(body))
        if use.outputs is None:
            return _json(error(use.message, use.problem), status=422)
        outputs = [{"type": output.type, "content": output.content} for output in use.outputs]
        text = "\n".join(shown(output.type, output.content) for output in use.outputs)
        return _json({"outputs": outputs, "text": text})


async def ask_model(case: Case, request: ProgramRequest) -> ChatReply:
    """Send a program's request to the case's model. Raises ModelFault."""
    return await case.ask(
        request.messages, tools=request.tools, usual=request.sampling, stop=request.stop, extra=request.extra
    )


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
            404: "there is nothing at this address; a model is asked at /v1/chat/completions",
            408: "the body of the request did not arrive in time",
            413: f"a request may have {MOST_BODY >> 20} MiB",
        }
        text = why.get(problem.status, problem.reason)
        return _json(error(text, "invalid_request"), status=problem.status, headers=_FINAL)


def _json(data: Any, **more: Any) -> web.Response:
    from aiohttp import web

    return web.json_response(data, **more)
