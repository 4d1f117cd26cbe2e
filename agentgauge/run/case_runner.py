"""Runs the cases of one worker and stores their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.errors import Fault
from agentgauge.core.files import DISK_FULL, RUN_FOLDER, cannot_write
from agentgauge.core.types import Json, Record, Usage
from agentgauge.replies.stages import Stages
from agentgauge.run.coordination.slots import FILE as SLOTS
from agentgauge.run.coordination.slots import SlotPool
from agentgauge.run.coordination.stopping import RunningFile, RunningWork, StopFile
from agentgauge.run.coordination.waiting_requests import OLD, WaitingRequests
from agentgauge.run.costs.estimate import open_reserve
from agentgauge.run.costs.first_replies import FirstReplies
from agentgauge.run.crashes import RunningCases, Suspects
from agentgauge.run.external_agent.agent import ProgramAgent
from agentgauge.run.factories import Clients, Endpoint
from agentgauge.run.options import DEFAULT_IN_FLIGHT
from agentgauge.run.settings import Settings, config_fingerprint
from agentgauge.run.solve import Planned, Solver
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId
from agentgauge.store.records import Appender

NOT_JSON = (RecursionError, TypeError, ValueError)
"""The exceptions of writing a value that JSON cannot represent."""


@dataclass(frozen=True)
class WorkerInfo:
    name: str = "main"  # "gw3"
    number: int = 0
    count: int = 1
    dist: str = "no"  # --dist, as the controller has it
    first: frozenset[str] = frozenset()  # suspects of the run that is resumed: tests that every process collects first
    is_replacement: bool = False  # for a worker that died, whose number it has; its queue is not the computed one


class CaseRunner:
    """Runs cases and stores their records. Made for the first case. Raises OSError if the run folder cannot be written.

    ``finished``: cases that are not run, with their records: those with an answer from an earlier session or from a
    worker that died, and those that have killed their process. ``problem``: the reason if the run folder cannot be
    written, so that this worker starts no new case.
    """

    def __init__(self, settings: Settings, worker: WorkerInfo, users: Sequence[int], tasks: Collection[str]) -> None:
        """``users``: the numbers of the workers that have cases; they share the slots."""
        self.folder = RunFolder(settings.run_dir)
        self.stop_file = StopFile(self.folder.path)
        self.problem = ""
        earlier = settings.resume or worker.is_replacement
        stored: dict[CaseId, Line] = {}
        if settings.rescore:
            stored = RunFolder(settings.rescore).lines()
        elif earlier:
            stored = self.folder.lines()
        # the stored records of a run that is scored again are of another run
        self.finished = {} if settings.rescore else {case: line for case, line in stored.items() if line.finished}
        guilty = Suspects.read(self.folder.path).guilty if settings.resume else []
        self.finished |= {case: stored[case] for case in guilty if case in stored}
        self.suspects: set[CaseId] = set()  # cases that run with no other case beside them
        self._worker = worker.name
        self._appender = self.folder.appender(worker.name)
        self._running = RunningCases(self.folder.path, worker.name)
        self._outside: Appender | None = None  # of requests outside any test
        number = users.index(worker.number)
        self.slots = SlotPool(self.folder.path / SLOTS, number=number, count=len(users), total=settings.in_flight)
        self._most = DEFAULT_IN_FLIGHT if settings.batch else settings.in_flight  # requests that are in no batch
        self._clients = Clients(settings, self.folder, min(self.slots.own, self._most))
        self._waiting = WaitingRequests(self.folder.path, worker.number)
        self._running_file = RunningFile(self.folder.path, worker.number)
        self._reserve = open_reserve(settings, worker.number, tasks)
        hosted = settings.spec is not None and not settings.spec.embedded
        self._first_replies = FirstReplies(settings.attempts, active=hosted and not settings.batch)
        self._clients.on_reply = lambda case: self._first_replies.replied(case.task, case.sample)
        program = settings.program
        logs = self.folder.path / "logs" / "agent"
        self._agent = ProgramAgent(program, settings.tasks, logs, settings.in_flight) if program else None
        self._stages = Stages(self.folder)
        self._solver = Solver(
            settings=CaseSettings(
                dialect=settings.dialect,
                scoring=settings.scoring,
                temperature=settings.model.temperature,
                max_tokens=settings.model.max_tokens,
                prompts=settings.file.prompts,
                attempts=settings.attempts,
                live=not (settings.record or settings.replay),
            ),
            folder=self.folder,
            stages=self._stages,
            worker=worker.name,
            similarity=self._clients.similarity(),
            configs={name: config_fingerprint(settings, settings.tasks[name]) for name in tasks},
            models=self._clients.model,
            boxes=self._clients.box,
            agent=self._agent,
            stored={case: line for case, line in stored.items() if case not in self.finished},
            asks=not settings.rescore,
            earlier=earlier,
        )

    def notify(self, recheck: Callable[[], None]) -> None:
        """Call ``recheck`` when the result of ``resting`` or ``is_ready`` has changed."""
        self._clients.on_rest = self._first_replies.on_change = recheck

    async def run(self, case: Planned) -> Line | Record:
        """Run a case. Returns where its record is; the record itself where nothing was stored."""
        self._running.begin(case.id, alone=case.id in self.suspects)
        record = await self._solver.solve(case)
        result = record if record.status == "missing" and record.transcript is None else self._store(record)
        self._running.end(case.id)
        before = self._solver.carried.pop(case.id, Usage())
        if self._reserve:  # once the record can be read: see BudgetWatch
            self._reserve.give_back(case.task.name, record.transcript.usage - before if record.transcript else Usage())
        self._first_replies.replied(case.task.name, case.row.id)
        return result

    async def open_case(self, planned: Planned, root: Path) -> Case:
        """The case of a test that pytest runs itself. ``root``: the project's folder. The case's tools may read only
        files that the test names.
        """
        sample = planned.task.data.load(planned.index, planned.row, planned.task.name)
        self._running.begin(planned.id, alone=planned.id in self.suspects)
        case = self._solver.open_case(planned, replace(sample, root=root))
        case.readable = []
        return case

    async def close_case(self, planned: Planned, case: Case, output: Json, fault: Fault | None, seconds: float) -> Line:
        """Score and store the case of such a test. ``output``: None if a fault ended it."""
        line = self._store(await self._solver.close_case(planned, case, output, fault, seconds))
        self._running.end(planned.id)
        return line

    def store_outside(self, case: Case) -> None:
        """Store what was asked while no test of a project's own was running, and empty the case."""
        task, config = case.sample.task, self._solver.configs[case.sample.task]
        transcript = self._solver.transcript(case, None, 0.0)
        record = Record(task, case.sample.id, case.attempt, config, "missing", transcript)
        case.drain()
        try:
            if self._outside is None:
                self._outside = self.folder.outside_appender(self._worker)
            self._outside.append(replace(record, worker=self._worker, finished=time.time()))
        except OSError as error:
            self.problem = cannot_write(self.folder.path, error)

    def tool_server(self, task: str) -> Endpoint:
        """See ``Clients.tool_server``."""
        return self._clients.tool_server(task)

    def resting(self) -> int:
        """How many running cases only wait, for example for the next attempt of a request. Other cases may use their
        slots, at most as many as there are slots."""
        return self._clients.at_rest()

    def is_ready(self, case: Planned) -> bool:
        """Whether a case can be started; otherwise other cases start before it."""
        return self._clients.ready(case.task) and self._first_replies.allow(case)

    def reserve(self, case: Planned) -> bool:
        """Whether the budget covers a case that is to be started now; its cost is reserved then."""
        if self._reserve and not self._reserve.take(case.task.name):
            return False
        self._first_replies.started(case)
        return True

    def resize(self, slots: int) -> None:
        self._clients.resize(min(slots, self._most))

    def is_stopped(self) -> bool:
        return bool(self.problem) or self.stop_file.exists()

    def end_requests(self) -> None:
        """Send no further request to a model; await those that endpoints work on."""
        self._clients.stop()

    def note_running(self, cases: int) -> None:
        """Report to the other workers and the screen what still runs."""
        self._running_file.write(RunningWork(cases, self._clients.sent))

    def watch(self) -> None:
        """Note how many requests run and have waited long, the state of requests in batches, and the tokens so far."""
        clients = self._clients
        self._waiting.write(clients.older_than(OLD), clients.batched(), clients.older_than(0), clients.tokens())

    async def close(self) -> None:
        if self._agent:
            await self._agent.close()
        await self._clients.close()
        self._waiting.write(0, tokens=self._clients.tokens())  # nothing runs here any more
        self._appender.close()
        self._running.close()
        self._stages.close()
        if self._outside:
            self._outside.close()

    def _store(self, record: Record) -> Line:
        try:
            line = self._appender.append(record)
        except NOT_JSON as error:  # what a benchmark made of the answers is no JSON, or nested too deeply
            why = f"{type(error).__name__}: {error}"
            text = f"the record cannot be written: {why}; what run and score of a task return must be plain data"
            line = self._appender.append(
                replace(record, status="broken", transcript=None, score=None, error=text, cause="internal error")
            )
        if self._appender.problem:
            self.problem = cannot_write(self.folder.path, self._appender.problem)
        elif record.cause in (DISK_FULL, RUN_FOLDER):
            self.problem = f"{record.error}; finished cases are kept"
        if line.finished:
            self._solver.remove_checkpoint((record.task, record.sample, record.attempt))
        return line
