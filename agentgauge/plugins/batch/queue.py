"""Collects waiting requests into batches, submits the batches, and waits for their results.

A batch is submitted when no request has arrived for a while, or when it is full. A batch that may have been submitted
is never submitted again before the provider's list of batches was searched for it: a request must not be paid twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from functools import partial

from agentgauge.core.causes import Failure
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.open_requests import UNSENT
from agentgauge.model.retry import EndpointHealth, RetryPolicy, persist
from agentgauge.plugins.batch.batch import Batch
from agentgauge.plugins.batch.counts import Counts
from agentgauge.plugins.batch.formats import CANCELLED, GOING_ON, BatchFormat, Sought, Status, without_result
from agentgauge.plugins.batch.journal import Journal, PlannedBatch

MOST_BYTES = 64 << 20
"""Bytes of a batch. Up to twice as many may wait to be submitted."""
UPLOADS = 2
"""Batches that are submitted at a time."""
PATIENCE = 30
"""Polls in a row that may fail, each after its own retries, or find a status that is not known: about half an hour."""
LONGEST = 4 * 24 * 60
"""Polls of a batch: four days. Providers let a batch expire after one to three."""
UNKNOWN = ("http 404", "http 410")
"""The causes that mean that a provider does not know a batch any more. Its requests go into another one."""


@dataclass(frozen=True, slots=True)
class PollingTimes:
    """Seconds, which ``scale`` multiplies."""

    quiet: float = 5.0  # without a new request, after which a batch is submitted
    longest: float = 60.0  # after its first request
    poll: float = 10.0  # before the second poll; each further distance is half as long again
    slowest: float = 60.0  # between two polls
    scale: float = 1.0

    async def pause(self, polls: int) -> None:
        """Wait before the next poll."""
        await asyncio.sleep(max(0.02, self.scale * min(self.poll * 1.5 ** min(polls, 20), self.slowest)))


class BatchQueue:
    """The batches of one worker to one model. Belongs to one event loop."""

    def __init__(
        self,
        form: BatchFormat,
        endpoint: Endpoint,
        journal: Journal,
        policy: RetryPolicy,
        *,
        most: int,
        pace: PollingTimes,
    ) -> None:
        """``most``: requests of a batch. ``policy``: for the creation of a batch."""
        self._form = form
        self._endpoint = endpoint
        self._journal = journal
        self._policy = policy
        self._most = min(most, form.most)
        self._largest = min(MOST_BYTES, form.largest)
        self._pace = pace
        self._health = EndpointHealth()
        self._filling: Batch | None = None
        self._earlier: dict[str, Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._away: set[Batch] = set()
        self._done = 0
        self._waiting = 0  # requests
        self._held = 0  # bytes of these
        self._is_stopped = False
        self._submitted = asyncio.Condition()
        self._uploads = asyncio.Semaphore(UPLOADS)

    @property
    def counts(self) -> Counts:
        return Counts(self._waiting, sum(batch.count for batch in self._away), len(self._away), self._done)

    def earlier(self, digest: str) -> tuple[Batch, int] | None:
        """The batch of an earlier session that a request is in, and its number there. ``digest`` stands for the
        request. Without an answer, its failure is final if the batch may have been submitted."""
        place = self._journal.take(digest)
        return place and (self._batch_of(place[0]), place[1])

    async def add(self, digest: str, body: bytes) -> tuple[Batch, int]:
        """Add a request to a new batch, as soon as the queue can take it. Returns the batch, and the request's number
        there. Its answer raises UsageProblem, and OSError where the journal cannot be written."""
        async with self._submitted:
            await self._submitted.wait_for(lambda: self._held <= 2 * self._largest)
        batch = self._filling
        if batch is None or (batch.items and batch.size + len(body) > self._largest):
            if batch:
                batch.full.set()
            batch = self._filling = Batch(uuid.uuid4().hex[:16])
            self._start(batch, self._run(batch))
        number = batch.add(digest, body)
        self._waiting += 1
        self._held += len(body)
        if batch.count >= self._most:
            batch.full.set()
            self._filling = None
        return batch, number

    def stop(self) -> None:
        """Submit no further batch; the requests of those that were filled are not sent."""
        self._is_stopped = True
        if self._filling:
            self._filling.full.set()

    async def close(self) -> None:
        """Stop waiting. A resumed run waits for the submitted batches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _batch_of(self, planned: PlannedBatch) -> Batch:
        """The batch of an earlier session, which its first request looks for."""
        if planned.name not in self._earlier:
            batch = self._earlier[planned.name] = Batch(planned.name, len(planned.requests))
            self._start(batch, self._look_for(batch, planned))
        return self._earlier[planned.name]

    def _start(self, batch: Batch, work: Coroutine[None, None, None]) -> None:
        batch.task = asyncio.create_task(work)
        self._tasks.add(batch.task)
        batch.task.add_done_callback(self._tasks.discard)

    async def _run(self, batch: Batch) -> None:
        await self._fill(batch)
        try:
            async with self._uploads:
                found = UNSENT if self._is_stopped else await self._submit(batch)
        finally:
            self._waiting -= batch.count
            self._held -= batch.size
            batch.items.clear()
            async with self._submitted:
                self._submitted.notify_all()
        if isinstance(found, Failure):
            batch.failure = replace(found, final=True)  # it has been tried often enough
        else:
            await self._collect(batch, found)

    async def _fill(self, batch: Batch) -> None:
        """Until no request arrives any more, or the batch is full."""
        scale = max(self._pace.scale, 0.02)
        end = time.monotonic() + self._pace.longest * scale
        while not batch.full.is_set() and time.monotonic() < end:
            count = batch.count
            try:
                await asyncio.wait_for(batch.full.wait(), self._pace.quiet * scale)
            except TimeoutError:
                if batch.count == count:
                    break
        if self._filling is batch:
            self._filling = None

    async def _submit(self, batch: Batch) -> list[str] | Failure:
        """The ids of the batch; several where it is not known which is it."""
        planned = PlannedBatch(batch.name, time.time(), batch.digests)
        self._journal.plan(planned.name, planned.at, planned.requests)
        upload = await self._form.upload(self._endpoint, batch.name, batch.items, self._pace.pause)
        if isinstance(upload, Failure):
            return upload
        if upload:
            self._journal.uploaded(batch.name, upload)
            planned.upload = upload
        lost = False  # whether the batch may be there, though its creation was not confirmed

        async def attempt() -> list[str] | Failure:
            nonlocal lost
            if lost and (found := await self._find(planned)):
                return found
            identity = await self._form.create(self._endpoint, upload, batch.items)
            if isinstance(identity, Failure):
                lost = lost or not (identity.limited or identity.final)
                return identity
            self._journal.submitted(batch.name, identity)
            return [identity]

        return await persist(attempt, self._policy, self._health)

    async def _find(self, planned: PlannedBatch) -> list[str] | Failure:
        sought = Sought(planned.name, planned.upload, planned.at, len(planned.requests))
        found = await self._form.find(self._endpoint, sought)
        if isinstance(found, Failure):
            return found
        known = self._journal.identities
        return [identity for identity in found if identity not in known]

    async def _look_for(self, batch: Batch, planned: PlannedBatch) -> None:
        if planned.identity:
            await self._collect(batch, [planned.identity])
        is_sure = planned.identity and planned.is_sure  # else the note is missing, or may be of another batch
        if not (is_sure or batch.answers) and (not batch.failure.final or batch.failure.cause == CANCELLED):
            found = await self._find(planned)
            if isinstance(found, Failure):
                batch.failure = replace(found, final=True)  # it may be away, and would be paid twice
            elif found:
                await self._collect(batch, found)
        if batch.failure.cause == CANCELLED:
            batch.failure = replace(batch.failure, final=False)

    async def _collect(self, batch: Batch, identities: list[str]) -> None:
        """Await the results, in the first of these batches that has some."""
        self._away.add(batch)
        try:
            for identity in identities:
                failure = await self._await_results(batch, identity)
                if batch.answers or len(identities) == 1 or failure.final:
                    batch.failure = failure
                if batch.answers:
                    break
        finally:
            self._away.discard(batch)
        self._done += 1

    async def _await_results(self, batch: Batch, identity: str) -> Failure:
        """What the requests have that have no result."""
        failures = 0
        for polls in range(LONGEST):
            outcome = await self._look(batch, identity)
            if isinstance(outcome, Status):
                if outcome.ended:
                    return outcome.failure or without_result(outcome.ended)
                if outcome.word in GOING_ON:
                    failures = 0
                    await self._pace.pause(polls)
                    continue
                outcome = _not_ended(identity, f"has the status {outcome.word!r:.60}, which AgentGauge does not know")
            if outcome.cause in UNKNOWN:
                return replace(outcome, final=False)
            failures += 1
            if outcome.final or failures > PATIENCE:  # it may still be away: a resumed run asks for it
                return replace(outcome, final=True)
            await self._pace.pause(polls)
        return replace(_not_ended(identity, f"has not ended after {LONGEST} polls"), final=True)

    async def _look(self, batch: Batch, identity: str) -> Status | Failure:
        """Where a batch is; if it has ended, its results have been read."""
        status = await self._form.status(self._endpoint, identity)
        if isinstance(status, Failure) or not status.ended:
            return status
        contents = [status.content]
        for path in status.paths:
            content = await self._endpoint.download(path)
            if isinstance(content, Failure):
                return content
            contents.append(content)
        for content in contents:
            await asyncio.to_thread(batch.take, content, partial(self._form.worth, self._endpoint))
        return status


def _not_ended(identity: str, why: str) -> Failure:
    return Failure(
        "batch not ended",
        f"the batch {identity:.80} {why}; look at it at the provider, then continue with --resume, which asks for it"
        " again and pays nothing twice",
    )
