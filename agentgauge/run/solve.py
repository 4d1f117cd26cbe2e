"""From a planned case to its record: load, run, score.

A case is broken until the task has returned an output, wrong until it is scored, and broken again if scoring fails. So
a Fault of the task gives a broken record, and so does any exception of data, benchmark or scoring.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.agent.loop import converse
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.errors import AgentGaugeError, Fault
from agentgauge.core.files import DISK_FULL, RUN_FOLDER, advice, is_disk_full, refusal
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.reply_ends import with_ends
from agentgauge.core.task import Task
from agentgauge.core.text import digest
from agentgauge.core.tracebacks import mistake_behind, place_of
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json, Record, Sample, Score, Transcript, Usage
from agentgauge.replies.stages import Stages
from agentgauge.run.clients import Clients
from agentgauge.run.hooks import Hooks
from agentgauge.run.part import Part
from agentgauge.run.planned import OWN, Given, Planned
from agentgauge.run.scoring import checked
from agentgauge.run.thread_pools import in_thread_pool
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId

UNFINISHED = "not finished: the run was stopped"
"""The error of a case of which no further request was sent when the run was stopped."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Solves cases one at a time or many at once: ``solve`` keeps no state between calls but ``checkpoints``."""

    settings: CaseSettings
    folder: RunFolder
    stages: Stages
    worker: str
    similarity: Mapping[str, str]  # task name → similarity backend, ``BACKEND@URL`` where a server compares texts
    configs: Mapping[str, str]  # task name → fingerprint of what may change an outcome
    clients: Clients  # which it makes inside the event loop
    hooks_of: Callable[[CaseId], Hooks | None]  # those of a case
    parts: Sequence[Part]
    stored: Mapping[CaseId, Line]  # records whose transcripts are scored again, where they are whole
    asks: bool  # the model, for the other cases
    earlier: bool  # the run folder may hold what an earlier session, or a worker that died, has left of a case
    checkpoints: set[CaseId] = field(default_factory=set)  # cases that have one in the run folder
    carried: dict[CaseId, Usage] = field(default_factory=dict)  # of unfinished cases: what earlier sessions have used

    def remove_checkpoint(self, case: CaseId) -> None:
        if self.earlier or case in self.checkpoints:
            self.stages.drop(case, self.configs[case[0]])
            self.checkpoints.discard(case)

    async def solve(self, planned: Planned, given: Given = OWN) -> Record:
        """Run and score a case, with what is given in the place of the run's own. Raises nothing but a cancellation:
        faults become broken records."""
        record = self.new_record(planned)
        try:
            sample = planned.task.data.load(planned.index, planned.row, planned.task.name)
            old = self._recall(planned)
            if old and old.answered and (not self.asks or old.given == given.noted):
                record = replace(record, status="wrong", transcript=old.transcript, given=old.given)
            elif self.asks:
                record = await self._run(planned, sample, replace(record, given=given.noted), old, given)
            elif old:
                record = replace(old, config=record.config, worker=self.worker)
            else:
                why = "the run that is scored again has no transcript of this case"
                record = replace(record, status="missing", error=why)
            if record.transcript and record.status == "wrong":
                record = await self._scored(planned.task, sample, record, record.transcript)
        except BaseException as error:  # a defect, or the code's own sys.exit, must end this case, not the run
            if _is_cancelled(error):
                raise
            text, cause = _why_broken(error, self.folder.path)
            record = replace(record, status="broken", error=text, cause=cause, traceback=mistake_behind(error))
        return replace(record, finished=time.time())

    def new_record(self, planned: Planned) -> Record:
        """The record of a case that is broken so far."""
        return Record(
            task=planned.task.name,
            sample=planned.row.id,
            attempt=planned.attempt,
            config=self.configs[planned.task.name],
            status="broken",
            tags=planned.row.tags,
            worker=self.worker,
        )

    def open_case(self, planned: Planned, sample: Sample, given: Given = OWN) -> Case:
        """The case that a task works with. Must be called inside the event loop."""
        config = self.configs[planned.task.name] + (digest(given.noted) if given.noted else "")
        place = (planned.id, config, self._placeholders(sample))
        resumed = self.stages.find(*place) if self.earlier else None
        folder = self.folder.files(*planned.id)
        own, model = self.clients.model(), self.clients.tested(given)
        settings = replace(self.settings, **self.clients.sampling(given.spec)) if given.spec else self.settings
        if self.earlier and resumed is None and folder.exists():
            shutil.rmtree(folder)  # the names of produced files must not depend on leftovers
        return Case(
            sample=sample,
            attempt=planned.attempt,
            seed=seed_of(planned.id),
            settings=settings,
            model=model,
            models=lambda role: model if (found := self.clients.model(role)) is own else found,
            loop=converse,
            hooks=self.hooks_of(planned.id),
            system=given.system,
            toolbox=self.clients.tools(given, planned.task),
            folder=folder,
            resumed=resumed,
            on_checkpoint=partial(self.stages.keep, *place),
        )

    def transcript(self, case: Case, output: Json, seconds: float) -> Transcript:
        """The transcript of a case, with placeholders for the folders that lie elsewhere on another machine."""
        texts = [output, [[event.detail, event.error] for event in case.events]]
        events = tuple(case.events)
        if (stored := self._placeholders(case.sample).to_placeholders(texts)) is not texts:
            output, details = stored
            events = tuple(
                replace(event, detail=detail, error=error)
                for event, (detail, error) in zip(events, details, strict=True)
            )
        return Transcript(output, events, case.usage, seconds, case.seed, _rounded(case.clock.seconds))

    def _placeholders(self, sample: Sample) -> PathPlaceholders:
        return PathPlaceholders({str(sample.root): ROOT_TOKEN, str(self.folder.path): RUN_TOKEN})

    async def close_case(
        self, planned: Planned, case: Case, output: Json, fault: Fault | None, seconds: float
    ) -> Record:
        """The record of a case that was not run by its task."""
        record = replace(self.new_record(planned), transcript=self.transcript(case, output, seconds))
        if case.is_unfinished:
            record = self._unfinished(case, record, seconds)
        elif fault is not None:
            record = replace(record, error=str(fault), cause=fault.cause)
        else:
            assert record.transcript is not None
            record = await self._scored(planned.task, case.sample, record, record.transcript)
        return replace(record, finished=time.time())

    async def _run(self, planned: Planned, sample: Sample, record: Record, old: Record | None, given: Given) -> Record:
        """``old``: what an earlier session has left of the case."""
        case = self.open_case(planned, sample, given)
        paid = Usage()
        if old and old.status == "missing" and old.transcript:  # its checkpoint may be earlier or later
            paid = max(case.usage, old.transcript.usage, key=lambda usage: usage.requests)
            case.usage = self.carried[planned.id] = paid
        clock = time.monotonic()
        output: Any = None
        if case.hooks:
            await case.hooks.tell("pytest_agentgauge_case_started", case=case)
        try:
            output = await self._run_of(planned.task)(case)
            record = replace(record, status="wrong")  # until it is scored
        except Exception as error:  # what the case has used counts, whatever ended it
            text, cause = (str(error), None) if case.is_unfinished else _why_broken(error, self.folder.path)
            record = replace(record, error=text, cause=cause, traceback=mistake_behind(error))
        except asyncio.CancelledError as error:
            if not (_is_cancelled(error) and case.usage.requests):
                raise
            case.usage = case.usage.resumed(paid)
            return self._unfinished(case, record, time.monotonic() - clock)
        if case.checkpoint_output is not None:
            self.checkpoints.add(planned.id)
        if case.is_unfinished:
            await case.settled()
        case.usage = case.usage.resumed(paid)
        if case.is_unfinished:
            return self._unfinished(case, record, time.monotonic() - clock)
        return replace(record, transcript=self.transcript(case, output, time.monotonic() - clock))

    def _unfinished(self, case: Case, record: Record, seconds: float) -> Record:
        """The record of a case that ended because the run stops: what was paid for it counts."""
        transcript = self.transcript(case, None, seconds) if case.usage.requests else None
        return replace(record, status="missing", error=UNFINISHED, cause=None, traceback=(), transcript=transcript)

    def _run_of(self, task: Task) -> Callable[[Case], Awaitable[Json]]:
        return next((solver for part in self.parts if (solver := part.solver(task))), task.run)

    def _recall(self, planned: Planned) -> Record | None:
        line = self.stored.get(planned.id)
        try:
            return line.read() if line else None
        except ValueError:
            return None  # the transcript is damaged

    async def _scored(self, task: Task, sample: Sample, record: Record, transcript: Transcript) -> Record:
        clock = time.monotonic()
        score = await self._score(task, sample, transcript)
        if transcript.times:  # an earlier version has not measured the others
            times = _rounded({**transcript.times, "scoring": time.monotonic() - clock})
            transcript = replace(transcript, times=times)
        return replace(record, status="passed" if score.passed else "wrong", score=score, transcript=transcript)

    async def _score(self, task: Task, sample: Sample, transcript: Transcript) -> Score:
        """The task's score, with what the ends of the replies say about a wrong case.

        Computed at once, or in threads that the benchmark's slow scores have to themselves: a thread costs every case
        some 0.1 ms."""
        similarity = self.similarity[task.name]

        def score() -> Score:
            return checked(task, task.score(sample, transcript.output, self.settings.scoring, similarity))

        slow = task.scores_in_thread or (task.similarity and task.similarity.server(similarity))
        found = await in_thread_pool(f"score {task.name}", score) if slow else score()
        return with_ends(found, transcript.events)


def _rounded(times: Mapping[Any, float]) -> dict[str, float]:
    return {kind: round(seconds, 6) for kind, seconds in times.items()}


def _is_cancelled(error: BaseException) -> bool:
    """Whether the run ends the case; a benchmark's own code may raise CancelledError, too."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, GeneratorExit)


def _why_broken(error: BaseException, run: Path) -> tuple[str, str]:
    if isinstance(error, Fault):  # of what scoring needs
        return str(error), error.cause
    if isinstance(error, AgentGaugeError):  # data, or a reply that the published rules cannot score
        return str(error), "not scorable"
    if is_disk_full(error):
        return refusal(error), DISK_FULL
    if isinstance(error, MemoryError):
        return "this machine had too little memory for the case; free some, or raise the limit (ulimit -v)", "memory"
    if isinstance(error, OSError) and advice(error) and str(error.filename).startswith(f"{run}{os.sep}"):
        return refusal(error), RUN_FOLDER
    return f"internal error at {place_of(error)}: {type(error).__name__}: {error}", "internal error"


def seed_of(case: CaseId) -> int:
    """A seed of its own for every case and attempt, the same in every run: 31 bits."""
    text = "\0".join(map(str, case))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFFFFFF
