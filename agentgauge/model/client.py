"""The real model: an endpoint that speaks OpenAI's chat completions or its Responses API."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from agentgauge.core.case import waiting_for_slot
from agentgauge.core.causes import Failure
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest
from agentgauge.core.reply_ends import FILTERED
from agentgauge.core.types import Usage
from agentgauge.model import responses, wire
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.files.references import RenderFile, holds_files, with_files
from agentgauge.model.files.upload import MAX_INLINE, InlineFiles, UploadedFiles
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.observed import observed
from agentgauge.model.open_requests import OpenRequests
from agentgauge.model.outage import Outage
from agentgauge.model.rates import Rates
from agentgauge.model.replay import Learned
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import Api, ModelSpec
from agentgauge.model.usage import unused_cost

HEAVY = 8
"""Concurrent requests with files: each may hold 20 MB."""


@asynccontextmanager
async def _slot(slots: asyncio.Semaphore) -> AsyncIterator[None]:
    with waiting_for_slot():
        await slots.acquire()
    try:
        yield
    finally:
        slots.release()


class OpenAIModel:
    """A ChatModel behind an OpenAI-compatible endpoint. Belongs to one event loop."""

    def __init__(
        self,
        spec: ModelSpec,
        limiter: AdaptiveLimiter | None = None,
        *,
        policy: RetryPolicy | None = None,
        environ: Mapping[str, str] = os.environ,
        rates: Rates | None = None,
        outage: Outage | None = None,
        on_reply: Callable[[CaseKey], None] | None = None,
        requests: OpenRequests | None = None,
    ) -> None:
        """``on_reply`` is called when a request of a case has been answered. ``requests``: those of the worker."""
        self.name = spec.name
        self.fingerprint = spec.endpoint_fingerprint
        self.reported = spec.reported
        self.spec = spec
        self.tokens = 0
        """Completion tokens of all replies so far."""
        self._on_reply = on_reply
        self._requests = requests or OpenRequests()
        self._endpoint = Endpoint(spec, limiter, policy, environ, rates, outage)
        self._heavy = asyncio.Semaphore(HEAVY)
        self._learned = Learned(spec.quirks)
        self._inline = InlineFiles(spec)
        self._uploaded = UploadedFiles(spec, self._endpoint)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Ask, with retries. Raises ModelFault with a short cause, SandboxFault where a file cannot be rendered,
        UsageProblem for an unusable key or a package that rendering files needs."""
        if not holds_files(request.messages):
            return await self._send(request, self._api(request))
        async with _slot(self._heavy):
            api = self._api(request)
            limit = MAX_INLINE if api == "chat" else None
            messages = await with_files(request.messages, self._renderer(api), limit)
            return await self._send(replace(request, messages=messages), api)

    async def _send(self, request: ChatRequest, api: Api) -> ChatReply:
        spec, form = self.spec, responses if api == "responses" else wire
        paid = Usage()  # for answers that are of no use

        def read(data: object) -> ChatReply | Failure:
            nonlocal paid
            try:
                reply: ChatReply | Failure = form.read_reply(data, spec, request.stop)
                reply = reply if isinstance(reply, Failure) else observed(reply, data, request, spec)
            except RecursionError:
                reply = Failure("invalid json", "the endpoint's answer cannot be used: it is nested too deep")
            if isinstance(reply, Failure):
                paid += unused_cost(data, spec.prices)
            return reply

        async def send(body: Mapping[str, Any], sending: AbstractContextManager[None]) -> ChatReply | Failure:
            return await self._endpoint.post(form.PATH, body, read, sending=sending)

        for _ in range(1 + Learned.ATTEMPTS):
            needs, quirks = self._learned.needs, self._learned.quirks
            spec = self.spec if quirks == self.spec.quirks else replace(self.spec, quirks=quirks)
            body = form.request_body(spec, request, needs)
            outcome: ChatReply | Failure = await self._requests.run(partial(send, body))
            if not isinstance(outcome, Failure):
                break
            if not self._learned.learn(outcome.answer, request.messages, needs, quirks):
                break
        if isinstance(outcome, Failure):
            if outcome.cause == FILTERED:
                return ChatReply(refusal=outcome.message, finish_reason="content_filter", usage=paid)
            # Raised outside any handler: a traceback chain through the client's stack is what makes faults expensive.
            raise self._endpoint.fault(outcome, paid)
        self.tokens += outcome.usage.completion_tokens
        if self._on_reply and request.case:
            self._on_reply(request.case)
        return replace(outcome, usage=paid + outcome.usage, max_tokens=wire.sent_limit(body))

    async def close(self) -> None:
        await self._uploaded.close()
        await self._endpoint.close()

    def _api(self, request: ChatRequest) -> Api:
        """OpenAI takes whole files in its Responses API only, so requests with files go there by default."""
        if self.spec.api is not None:
            return self.spec.api
        return "responses" if self.spec.provider == "openai" and holds_files(request.messages) else "chat"

    def _renderer(self, api: Api) -> RenderFile:
        return self._uploaded if api == "responses" else self._inline
