"""A model whose requests are sent in batches."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import Fault, ModelFault
from agentgauge.core.files import DISK_FULL, RUN_FOLDER, is_disk_full, refusal
from agentgauge.core.reply_ends import FILTERED
from agentgauge.core.types import Usage
from agentgauge.model import wire
from agentgauge.model.client import HEAVY
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.files.references import holds_files, with_files
from agentgauge.model.files.upload import MAX_INLINE, InlineFiles
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.observed import observed
from agentgauge.model.open_requests import OpenRequests
from agentgauge.model.replay import Learned, Needs
from agentgauge.model.retry import EndpointHealth, RetryPolicy, backoff_scale, persist
from agentgauge.model.spec import DEFAULT_TIMEOUT, ModelSpec
from agentgauge.model.usage import unused_cost
from agentgauge.plugins.batch.batch import Batch, Line
from agentgauge.plugins.batch.counts import Counts
from agentgauge.plugins.batch.formats import BatchFormat
from agentgauge.plugins.batch.journal import Journal
from agentgauge.plugins.batch.queue import BatchQueue, PollingTimes

CONNECTIONS = 8
"""Concurrent uploads, polls and downloads of a worker."""


class BatchModel:
    """A ChatModel whose requests wait for a batch. Belongs to one event loop. Time-outs and rates of the model's table
    do not apply to requests in a batch."""

    def __init__(
        self,
        spec: ModelSpec,
        form: BatchFormat,
        journal: Path,
        *,
        most: int,
        environ: Mapping[str, str] = os.environ,
        requests: OpenRequests | None = None,
    ) -> None:
        """``journal``: the file of the run's batches. ``most``: requests of a batch. ``requests``: those of the
        worker."""
        self.name = spec.name
        self.fingerprint = spec.endpoint_fingerprint
        self.reported = spec.reported
        self._form = form
        self._spec = form.endpoint_spec(spec)
        patient = replace(self._spec, timeout=max(spec.timeout, DEFAULT_TIMEOUT), outage_patience=0)
        limiter = AdaptiveLimiter(CONNECTIONS, start=CONNECTIONS, timeout=patient.timeout)
        scale = backoff_scale(environ)
        self._policy = RetryPolicy(max_retries=spec.max_retries, scale=scale)
        self._endpoint = Endpoint(patient, limiter, self._policy, environ)
        self._queue = BatchQueue(
            form, self._endpoint, Journal(journal), self._policy, most=most, pace=PollingTimes(scale=scale)
        )
        self._requests = requests or OpenRequests()
        self._health = EndpointHealth()
        self._learned = Learned(self._spec.quirks)
        self._heavy = asyncio.Semaphore(HEAVY)
        self._inline = InlineFiles(spec)

    def __repr__(self) -> str:
        return f"BatchModel({self.name!r})"

    @property
    def counts(self) -> Counts:
        return self._queue.counts

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Send a request, with retries, each in another batch. Raises ModelFault with a short cause, SandboxFault where
        a file cannot be rendered, UsageProblem for an unusable key or a package that rendering files needs."""
        if holds_files(request.messages) and not self._form.takes_files:
            raise ModelFault(
                f"model {self.name}: a batch of {self._form.title} takes no files, and this request shows some; run"
                " this task without --batch",
                cause="files in a batch",
            )
        paid: list[Usage] = []  # for answers that are of no use
        try:
            for _ in range(1 + Learned.ATTEMPTS):
                needs, quirks = self._learned.needs, self._learned.quirks
                self._spec = replace(self._spec, quirks=quirks)
                outcome = await self._requests.run(partial(self._persist, partial(self._attempt, request, needs, paid)))
                if isinstance(outcome, ChatReply):
                    break
                if not self._learned.learn(outcome.answer, request.messages, needs, quirks):
                    break
        except OSError as error:
            cause = DISK_FULL if is_disk_full(error) else RUN_FOLDER
            raise Fault(f"the journal of batches: {refusal(error)}", cause=cause) from None
        usage = sum(paid, Usage())
        if isinstance(outcome, ChatReply):
            return replace(outcome, usage=usage + outcome.usage)
        if outcome.cause == FILTERED:
            return ChatReply(refusal=outcome.message, finish_reason="content_filter", usage=usage)
        raise self._endpoint.fault(outcome, usage)

    async def close(self) -> None:
        await self._queue.close()
        await self._endpoint.close()

    def stop(self) -> None:
        """Submit no further batch. Submitted ones are awaited; a resumed run finds them again."""
        self._queue.stop()

    async def _persist(
        self,
        attempt: Callable[[AbstractContextManager[None]], Awaitable[ChatReply | Failure]],
        sending: AbstractContextManager[None],
    ) -> ChatReply | Failure:
        return await persist(partial(attempt, sending), self._policy, self._health)

    async def _attempt(
        self, request: ChatRequest, needs: Needs, paid: list[Usage], sending: AbstractContextManager[None]
    ) -> ChatReply | Failure:
        batch, number, is_new = await self._place(request, needs, renewed=False)
        with sending:
            line = await batch.answer(number)
        outcome = self._read(line, request, paid)
        # what failed in a batch of an earlier session is asked again, unless that batch may be away
        if is_new or isinstance(outcome, ChatReply) or (isinstance(line, Failure) and line.final):
            return outcome
        batch, number, _ = await self._place(request, needs, renewed=True)
        with sending:
            line = await batch.answer(number)
        return self._read(line, request, paid)

    async def _place(self, request: ChatRequest, needs: Needs, *, renewed: bool) -> tuple[Batch, int, bool]:
        """The batch of a request, its number there, and whether the batch is of this session. The body is encoded for
        each try and not kept, because bodies with files would fill the memory while batches are away."""
        digest, body = await self._encoded(request, needs)
        if not renewed and (earlier := self._queue.earlier(digest)):
            return *earlier, False
        return *await self._queue.add(digest, body), True

    def _read(self, line: Line | Failure, request: ChatRequest, paid: list[Usage]) -> ChatReply | Failure:
        result = line if isinstance(line, Failure) else self._form.result(self._endpoint, line)
        if isinstance(result, Failure):
            return result
        reply = wire.read_reply(result, self._spec, request.stop)
        if isinstance(reply, Failure):
            paid.append(unused_cost(result, self._spec.prices))
            return reply
        reply = observed(reply, result, request, self._spec)
        body = wire.request_body(self._spec, replace(request, messages=()))  # what limits a reply is beside messages
        return replace(reply, max_tokens=wire.sent_limit(self._form.request_body(body)))

    async def _encoded(self, request: ChatRequest, needs: Needs) -> tuple[str, bytes]:
        """The body of a request, and the digest that finds it in a batch of an earlier session: of the body, the case
        and the number of the request in it."""
        if holds_files(request.messages):
            async with self._heavy:
                request = replace(request, messages=await with_files(request.messages, self._inline, MAX_INLINE))
        body = self._endpoint.encoded(self._form.request_body(wire.request_body(self._spec, request, needs)))
        case = request.case.path if request.case else ""
        return hashlib.sha256(f"{case}\n".encode() + body).hexdigest()[:24], body
