"""The server at which programs reach a model: an agent program the model and the tools of its case, an agent inside a
project's own test the run's model, and whoever has the address the model of ``agentgauge serve-model``.

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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from agentgauge.agent.loop import shown
from agentgauge.agent.native import function_schema
from agentgauge.core.capabilities import ToolUse
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


class ProgramSession(Protocol):
    """The requests that a program may send, and those that are running."""

    requests: int  # to the model so far
    running: set[asyncio.Task[object]]
    at_once: asyncio.Semaphore

    @property
    def forwarded(self) -> Forwarded: ...

    @property
    def model(self) -> str: ...

    @property
    def any_name(self) -> bool:
        """Whether a request may name another model."""

    @property
    def tools(self) -> Sequence[Tool]: ...

    def receive(self, content: bytes) -> bytes: ...

    async def ask(self, request: ProgramRequest) -> ChatReply: ...

    async def use(self, name: str, arguments: str) -> ToolUse: ...


class ModelSession:
    """A session without tools and without limits."""

    tools: Sequence[Tool] = ()

    def __init__(
        self,
        model: str,
        ask: Callable[[ProgramRequest], Awaitable[ChatReply]],
        *,
        at_once: int,
        forwarded: Forwarded,
        any_name: bool = False,
    ) -> None:
        """``model``: its name. ``ask`` raises Refused and Fault. ``at_once``: requests; further ones wait."""
        self.model = model
        self.forwarded = forwarded
        self.any_name = any_name
        self.requests = 0
        self.running: set[asyncio.Task[object]] = set()
        self.at_once = asyncio.Semaphore(at_once)
        self._ask = ask

    def receive(self, content: bytes) -> bytes:
        return content

    async def ask(self, request: ProgramRequest) -> ChatReply:
        self.requests += 1
        return await self._ask(request)

    async def use(self, name: str, arguments: str) -> ToolUse:
        raise Refused("there are no tools at this address", 404)


class EndpointProxy:
    """Serves sessions at a port of localhost. Belongs to one event loop."""

    def __init__(self, public: ProgramSession | None = None) -> None:
        """``public``: the session of requests without a token, or with one that is not known."""
        self._public = public
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
        return await self._served.enter_async_context(served(app, bind("127.0.0.1", port)))

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

        name = None if session.any_name else session.model
        asked = read_body(session.receive(body), name, session.forwarded)
        reply = await session.ask(replace(asked, case=request.headers.get(CASE_HEADER, "")))
        if not asked.stream:
            return _json(completion(reply, session.model, session.requests))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        for chunk in chunks(reply, session.model, session.requests, usage=asked.wants_usage):
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
