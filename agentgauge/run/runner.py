"""Runs the cases of one process: a queue, as many cases at a time as there are slots, a record of each.

Everything here belongs to one event loop. Cases run in the order of the queue; the limit is the number of concurrent
cases, not the distance from the case that pytest has reached: each case that ends frees its slot, so a slow case delays
no other. A record is written when its case ends; until it is asked for, only its location is in memory.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey
from agentgauge.core.errors import Fault
from agentgauge.core.files import DISK_FULL, RUN_FOLDER, cannot_write
from agentgauge.core.tools import OwnFiles
from agentgauge.core.types import Json, Record, Usage
from agentgauge.replies.stages import Stages
from agentgauge.run.clients import Clients, Endpoint
from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.coordination.slots import FILE as SLOTS
from agentgauge.run.coordination.slots import SlotPool
from agentgauge.run.coordination.stopping import LONGEST_WAIT, RunningFile, RunningWork, StopFile
from agentgauge.run.coordination.waiting_requests import FILE as WAITING
from agentgauge.run.coordination.waiting_requests import FORM, OLD
from agentgauge.run.crashes import RunningCases, Suspects
from agentgauge.run.hooks import Hooks, ask_installed
from agentgauge.run.part import MAIN, Part, Place, Process
from agentgauge.run.planned import OWN, Given, Planned
from agentgauge.run.settings import Settings, config_fingerprint
from agentgauge.run.solve import Solver
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId
from agentgauge.store.records import Appender

Value = TypeVar("Value")

Result = Line | Record | Exception
"""Of a case: where its record is; the record itself where nothing was stored; or why it could not be stored."""

STOPPED = "not started: the run was stopped"
"""The error of a case that is asked for after the run was stopped."""

NOT_JSON = (RecursionError, TypeError, ValueError)
"""The exceptions of writing a value that JSON cannot represent."""

AT_ONCE = 4
"""Cases that are started before the loop sends what the cases before them have written."""

RECHECK_SECONDS = 0.05
"""Seconds between two checks for what other workers have given up, such as slots, while no case ends here."""

WATCH_SECONDS = 0.25
"""Seconds between two notes of what is waited for."""

STOP_SECONDS = 0.2
"""Seconds between two looks whether the run is to stop, and then whether running cases have ended."""


class Runner:
    """Made for the first case, inside or outside its event loop; ``start`` is called inside.

    ``finished``: cases that are not run, with their records: those with an answer from an earlier session or from a
    worker that died, and those that have killed their process. ``problem``: the reason if the run folder cannot be
    written, so that no new case is started here.
    """

    def __init__(
        self,
        settings: Settings,
        tasks: Collection[str],
        place: Place = MAIN,
        users: Sequence[int] = (0,),
        hooks_of: Callable[[CaseId], Hooks | None] = lambda _: None,
    ) -> None:
        """``tasks``: the names of those with cases here. ``users``: the numbers of the processes that have cases; they
        share the slots. ``hooks_of``: the hooks of a case, if any is implemented. Raises OSError if the run folder
        cannot be written."""
        self.folder = RunFolder(settings.run_dir)
        self.stop_file = StopFile(self.folder.path)
        self.problem = ""
        earlier = bool(settings.resume) or place.left is not None
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
        self.on_done: Callable[[CaseId, Result], None] | None = None
        """Called when a case has ended; ``results`` keeps what it returns for otherwise."""
        self.results: dict[CaseId, Result] = {}
        """Of cases that have ended and were not asked for yet. Any thread may take one."""

        # -- what cases need
        self._place = place
        self._hooks_of = hooks_of
        self._appender = self.folder.appender(place.name)
        self._noted = RunningCases(self.folder.path, place.name)
        self._outside: Appender | None = None  # of requests outside any test
        number = users.index(place.number)
        self._pool = SlotPool(self.folder.path / SLOTS, number=number, count=len(users), total=settings.slots)
        self._most = settings.at_once
        process = Process(settings, self.folder, place, tasks, self._recheck)
        parts: list[Part] = ask_installed("pytest_agentgauge_process", process=process)
        self._parts = sorted(parts, key=lambda part: part.layer)
        self._clients = Clients(process, min(self._pool.own, self._most), self._parts)
        self._waiting_requests = Numbers(self.folder.path / WAITING, FORM, place.number)
        self._running_file = RunningFile(self.folder.path, place.number)
        self._clients.on_reply = self._replied
        self._clients.on_rest = self._recheck
        self._stages = Stages(self.folder)
        self._solver = Solver(
            settings=CaseSettings(
                dialect=settings.dialect,
                scoring=settings.scoring,
                temperature=settings.model.temperature,
                max_tokens=settings.model.max_tokens,
                prompts=settings.prompts,
                attempts=settings.attempts,
                live=settings.live,
            ),
            folder=self.folder,
            stages=self._stages,
            worker=place.name,
            similarity=self._clients.similarity(),
            configs={name: config_fingerprint(settings, settings.tasks[name]) for name in tasks},
            clients=self._clients,
            hooks_of=hooks_of,
            parts=self._parts,
            stored={case: line for case, line in stored.items() if case not in self.finished},
            asks=not settings.rescore,
            earlier=earlier,
        )

        # -- the queue
        self._slots = self._pool.own
        self._queue: deque[Planned] = deque()
        self._unready: list[Planned] = []  # from the front of the queue
        self._given: dict[CaseId, Given] = {}  # of cases in the queue that have objects of their own
        self._known: set[CaseId] = set()  # in the queue, or running
        self._asked: dict[CaseId, asyncio.Future[None]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._abandoned: set[asyncio.Task[None]] = set()  # cancelled because they took too long to end
        self._fill_is_scheduled = False
        self._recheck_is_scheduled = False
        self._stops_at: float | None = None  # when running cases are abandoned, once the run stops; loop time
        self._closed = False

    # -- cases

    def start(self) -> None:
        """Begin to watch whether the run stops, and to note what is waited for."""
        self._loop = asyncio.get_running_loop()
        self._watch()
        self._watch_stop()

    def submit(self, cases: Iterable[Planned], given: Given = OWN, *, first: bool = False) -> None:
        """Add cases to the end of the queue, or to its begin; those already in it, running or done stay as they are.
        ``given``: the model and the tools that they get in the place of the run's own."""
        fresh: list[Planned] = []
        for case in cases:
            if case.id not in self._known and case.id not in self.results:
                self._known.add(case.id)
                fresh.append(case)
        if given is not OWN:
            self._given |= {case.id: given for case in fresh}
        if first:
            self._queue.extendleft(reversed(fresh))
        else:
            self._queue.extend(fresh)
        if self._closed:
            self._give_up()
        self._top_up()

    async def result(self, case: Planned, given: Given = OWN) -> Line | Record:
        """Wait for a case. Returns where its record is, or the record itself where nothing was stored: its status is
        "missing" where no new case is started any more.

        A case that was not submitted is the next to start. Raises the error that kept the case from being run or
        stored.
        """
        if case.id not in self.results:
            self.submit([case], given, first=True)
        if case.id not in self.results:
            asked = self._asked.setdefault(case.id, self._loop.create_future())
            await asyncio.shield(asked)
        return self.taken(case)

    def taken(self, case: Planned) -> Line | Record:
        """The result of a case that has ended. Any thread may call it. Raises KeyError where there is none, and the
        error that kept the case from being stored."""
        result = self.results.pop(case.id)
        if isinstance(result, Exception):
            raise result
        return result

    def hold(self) -> None:
        """Start no new case; running cases may end."""
        self._give_up()

    @property
    def is_idle(self) -> bool:
        """Whether no case runs, once ``hold`` was called."""
        return not self._running

    def is_stopped(self) -> bool:
        return bool(self.problem) or self.stop_file.exists()

    async def close(self) -> None:
        """Start no new case and cancel the running ones. What is finished has been stored already."""
        if self._closed:
            return
        self._closed = True
        self._give_up()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._clients.close()
        for part in self._parts:
            await part.close()
        nothing_runs = 0, 0, 0, 0, 0
        self._waiting_requests.write(*nothing_runs, self._clients.retries(), self._clients.tokens())
        for file in (self._appender, self._noted, self._stages, self._outside, self._pool):
            if file:
                file.close()

    # -- the queue

    def _top_up(self) -> None:
        if self._fill_is_scheduled or self._closed:
            return
        if self._has_waiting and self.is_stopped():
            self._give_up()
        try:
            self._fill()
        except Exception as error:  # the run folder is gone, say: no one must wait for cases that never start
            self._give_up(error)

    def _fill(self) -> None:
        self._update_slots()
        started, held = 0, False  # held: a part holds the next case up
        while self._queue and self._used < self._slots:
            if started == AT_ONCE:  # each reads its sample and writes its request before the first of them is sent
                self._fill_is_scheduled = True
                self._loop.call_soon(self._fill_again)
                return
            case = self._queue.popleft()
            if not self._is_ready(case):
                self._unready.append(case)
            elif self._takes(case):
                task = self._loop.create_task(self._run(case))
                self._running.add(task)
                task.add_done_callback(self._ended)
                started += 1
            else:
                self._queue.appendleft(case)
                held = True
                break
        if not self._has_waiting:
            self._update_slots()  # the other workers can see that this one is idle
        elif (held or self._pool.is_shared) and not self._recheck_is_scheduled:
            self._recheck_is_scheduled = True
            self._loop.call_later(RECHECK_SECONDS, self._recheck_slots)

    def _fill_again(self) -> None:
        self._fill_is_scheduled = False
        self._top_up()

    def _recheck_slots(self) -> None:
        self._recheck_is_scheduled = False
        self._top_up()

    def _recheck(self) -> None:
        """The number of resting cases, or which cases are ready, has changed."""
        if ready := [case for case in self._unready if self._is_ready(case)]:
            self._queue.extendleft(reversed(ready))
            self._unready = [case for case in self._unready if not self._is_ready(case)]
        self._top_up()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._top_up()

    def _is_ready(self, case: Planned) -> bool:
        """Whether a case can be started; otherwise other cases start before it."""
        return self._clients.ready(case.task) and all(part.is_ready(case) for part in self._parts)

    def _takes(self, case: Planned) -> bool:
        """Whether a case that is to be started now starts: see ``Part.take``."""
        try:
            if not all(part.take(case) for part in self._parts):
                return False
        except BaseException:
            self._queue.appendleft(case)  # it ends with the others that wait
            raise
        for part in self._parts:
            part.started(case)
        return True

    def _replied(self, case: CaseKey) -> None:
        for part in self._parts:
            part.replied(case)

    def _update_slots(self) -> None:
        waiting = self._has_waiting
        # an idle worker keeps the slots of resting cases: their next requests would come on top of the total
        slots = self._pool.limit(self._used if waiting else len(self._running), waiting=waiting)
        if slots != self._slots:
            self._slots = slots
            self._clients.resize(min(slots, self._most))

    @property
    def _has_waiting(self) -> bool:
        """Whether there are cases that have not been started."""
        return bool(self._queue or self._unready)

    @property
    def _used(self) -> int:
        """Slots. Cases that only wait, for example for the next attempt of a request, leave theirs to others, at most
        as many as there are slots."""
        return len(self._running) - min(self._clients.at_rest(), self._slots)

    def _give_up(self, error: Exception | None = None) -> None:
        """End all waiting cases. Someone may be waiting for one of them."""
        waiting = [*self._unready, *self._queue]
        self._unready.clear()
        self._queue.clear()
        for case in waiting:
            self._done(case, error or Record(*case.id, config="", status="missing", error=STOPPED))

    def _done(self, case: Planned, result: Result) -> None:
        self._known.discard(case.id)
        self._given.pop(case.id, None)
        if self.on_done:
            self.on_done(case.id, result)
        else:
            self.results[case.id] = result
        if asked := self._asked.pop(case.id, None):
            asked.set_result(None)

    # -- one case

    async def _run(self, case: Planned) -> None:
        result: Result
        try:
            result = await self._solved(case)
        except asyncio.CancelledError:  # the run ends
            result = Record(*case.id, config="", status="missing", error=STOPPED)
        except Exception as error:  # storing failed (disk full): ``result`` raises it
            result = error
        self._done(case, result)

    async def _solved(self, case: Planned) -> Line | Record:
        self._noted.begin(case.id, alone=case.id in self.suspects)
        record = await self._solver.solve(case, self._given.get(case.id, OWN))
        result = record if record.status == "missing" and record.transcript is None else self._store(record)
        self._noted.end(case.id)
        before = self._solver.carried.pop(case.id, Usage())
        used = record.transcript.usage - before if record.transcript else Usage()
        for part in self._parts:
            part.ended(case, used)
        if isinstance(result, Line):
            with suppress(asyncio.CancelledError):  # the run ends meanwhile; what is stored stands
                await self._tell_finished(record)
        return result

    async def _tell_finished(self, record: Record) -> None:
        if hooks := self._hooks_of((record.task, record.sample, record.attempt)):
            await hooks.tell("pytest_agentgauge_case_finished", record=record)

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

    # -- the end of a run

    def _watch(self) -> None:
        """Note what the progress line shows: the numbers of ``Waiting``, and what the parts note."""
        if not self._closed:
            clients = self._clients
            limits = clients.limit(), self._pool.own
            waits = clients.resting(), clients.retries()
            self._waiting_requests.write(
                clients.older_than(OLD), clients.older_than(0), *limits, *waits, clients.tokens()
            )
            for part in self._parts:
                part.note()
            self._loop.call_later(WATCH_SECONDS, self._watch)

    def _watch_stop(self) -> None:
        """Where the run stops and awaits requests: start no case, send no request, and abandon what takes too long."""
        if self._closed:
            return
        if self._stops_at is None and self.stop_file.awaits():
            self._stops_at = self._loop.time() + LONGEST_WAIT
            self._give_up()
            self._clients.stop()
            for part in self._parts:
                part.stop()
        if self._stops_at is not None:
            self._running_file.write(RunningWork(len(self._running), self._clients.sent))
            if self._loop.time() > self._stops_at:
                for task in self._running - self._abandoned:  # once: they may have something to clean up
                    task.cancel()
                self._abandoned |= self._running
        self._loop.call_later(STOP_SECONDS, self._watch_stop)

    # -- a project's own tests, which pytest runs itself

    async def open_case(self, planned: Planned, root: Path) -> Case:
        """The case of such a test. ``root``: the project's folder. The case's tools may read only files that the test
        names."""
        sample = planned.task.data.load(planned.index, planned.row, planned.task.name)
        self._noted.begin(planned.id, alone=planned.id in self.suspects)
        case = self._solver.open_case(planned, replace(sample, root=root))
        case.readable = OwnFiles()
        if case.hooks:
            await case.hooks.tell("pytest_agentgauge_case_started", case=case)
        return case

    async def close_case(self, planned: Planned, case: Case, output: Json, fault: Fault | None, seconds: float) -> Line:
        """Score and store the case of such a test. ``output``: None if a fault ended it."""
        record = await self._solver.close_case(planned, case, output, fault, seconds)
        line = self._store(record)
        self._noted.end(planned.id)
        await self._tell_finished(record)
        return line

    def store_outside(self, case: Case) -> None:
        """Store what was asked while no such test was running, and empty the case."""
        task, config = case.sample.task, self._solver.configs[case.sample.task]
        transcript = self._solver.transcript(case, None, 0.0)
        record = Record(task, case.sample.id, case.attempt, config, "missing", transcript)
        case.drain()
        try:
            if self._outside is None:
                self._outside = self.folder.outside_appender(self._place.name)
            self._outside.append(replace(record, worker=self._place.name, finished=time.time()))
        except OSError as error:
            self.problem = cannot_write(self.folder.path, error)

    def tool_server(self, task: str) -> Endpoint:
        """The task's tool server, for programs with their own client. Raises UsageProblem if the run has none."""
        return self._clients.tool_server(task)


# -- Beside pytest, which walks through its tests one by one.


class Background:
    """The event loop of a runner, in a background thread. All methods are called from pytest's thread."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="agentgauge-runner", daemon=True)
        self._thread.start()
        self._loop.call_soon_threadsafe(runner.start)

    def submit(self, cases: Iterable[Planned], given: Given = OWN) -> None:
        """Add cases to the end of the queue; those already in it stay where they are."""
        self._loop.call_soon_threadsafe(self._runner.submit, list(cases), given)

    def result(self, case: Planned, given: Given = OWN) -> Line | Record:
        """See ``Runner.result``."""
        if case.id in self._runner.results:
            return self._runner.taken(case)
        asked = self.call(self._runner.result(case, given))
        try:
            return asked.result()
        except BaseException:  # where the waiting is interrupted, the result stays for the next call
            if not asked.cancel() and asked.exception() is None:
                self._runner.results[case.id] = asked.result()
            raise

    def call(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        """Run a coroutine in the runner's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def hold(self) -> None:
        """Start no new case; running cases may end."""
        self._loop.call_soon_threadsafe(self._runner.hold)

    def is_idle(self) -> bool:
        """Whether no case runs, once ``hold`` was called."""
        return self._runner.is_idle

    def close(self) -> None:
        """Start no new case and cancel the running ones. What is finished has been stored already."""
        if not self._closed:
            self._closed = True
            try:
                self.call(self._runner.close()).result(timeout=30)
                self.call(self._loop.shutdown_default_executor()).result(timeout=30)
            except TimeoutError:
                return  # code of a benchmark does not return; its thread ends with the process
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=30)
            self._loop.close()

    def _run_loop(self) -> None:
        while True:
            try:
                self._loop.run_forever()
                return
            except (SystemExit, KeyboardInterrupt):
                pass  # raised by a benchmark's code in a task, which keeps it; asyncio ends the loop as well
