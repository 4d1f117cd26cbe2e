"""Runs programs in the sandbox, each on the inputs of one group of tests (docs/benchmarks/mmau.md#execution and
docs/benchmarks/mmau.md#confinement): as many at a time as there are processors, for any number of concurrent requests.

Each process has one pool, and its programs share the machine's CPU slots with programs of other processes. A program
that ran out of time beside others can be run again alone: then no other program of ours runs, so that a full machine
does not turn a right answer into a wrong one.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, TypeVar, get_args

from agentgauge import sandbox
from agentgauge.run.thread_pools import cpu_slots, processors, threads
from agentgauge.sandbox.paths import package_folders
from bench_mmau.fixes import PARITY, Fixes

_T = TypeVar("_T")


class JobNote:
    """A running job's note on whether another job ran at the same time, or other work kept the machine busy."""

    def __init__(self) -> None:
        self.crowded = False


class ProgramPool:
    """Jobs in threads, ``size`` at a time. Safe in any thread; do not wait for a job inside a job."""

    def __init__(self, size: int, executor: Callable[[], ThreadPoolExecutor] | None = None) -> None:
        """``executor`` is called for each job; without it the pool has threads of its own."""
        self.size = size
        self._cpu_slots = cpu_slots(size)
        self._executor = executor or cache(lambda: ThreadPoolExecutor(size, thread_name_prefix="contest"))
        self._changed = threading.Condition()
        self._running: set[JobNote] = set()
        self._waiting_alone = 0
        self._alone = False

    def submit(self, job: Callable[[], _T]) -> Future[_T]:
        """Run a job as soon as a thread is free. The job opens ``beside`` or ``alone`` around what it measures."""
        return self._executor().submit(job)

    def in_turn(self, jobs: Sequence[Callable[[], _T]], until: Callable[[_T], bool]) -> Future[list[_T]]:
        """Run jobs one after the other, up to the first result that ``until`` accepts; jobs of other callers may run in
        between. When the executor has changed, jobs that have not begun are cancelled."""
        executor, found, whole = self._executor(), list[_T](), Future[list[_T]]()

        def go_on(last: Future[_T] | None = None) -> None:
            try:
                if last is not None:
                    found.append(last.result())
                if len(found) == len(jobs) or (found and until(found[-1])):
                    whole.set_result(found)
                elif self._executor() is executor:
                    self.submit(jobs[len(found)]).add_done_callback(go_on)
                else:
                    whole.set_exception(CancelledError())
            except BaseException as error:
                whole.set_exception(error)

        go_on()
        return whole

    @contextmanager
    def beside(self) -> Iterator[JobNote]:
        """Run beside other jobs. Waits while a job runs alone or waits to do so."""
        place = JobNote()
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting_alone)
            if self._running:
                for other in (place, *self._running):
                    other.crowded = True
            self._running.add(place)
        try:
            with self._cpu_slots.slot() as mine:
                place.crowded |= self._cpu_slots.crowded(mine)
                yield place
                place.crowded |= self._cpu_slots.crowded(mine) or os.getloadavg()[0] > self.size
        finally:
            with self._changed:
                self._running.remove(place)
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Run alone. Call it outside of ``beside``; jobs that wait for it go before other jobs."""
        with self._changed:
            self._waiting_alone += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._running)
                self._alone = True
            finally:
                self._waiting_alone -= 1
        try:
            with self._cpu_slots.alone():
                yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    def close(self) -> None:
        """Wait for running jobs and drop the others."""
        self._executor().shutdown(cancel_futures=True)


_making = threading.Lock()
_made: list[ProgramPool] = []


def shared_pool() -> ProgramPool:
    """The pool of this process, made when first asked for."""
    with _making:
        if not _made:
            size = processors()
            _made.append(
                ProgramPool(size, lambda: threads("programs", size))
            )  # which the end of a run cut short knows of
        return _made[0]


_RUNNER = Path(__file__).with_name("runner.py")
_START = 15.0  # seconds of wall time for building the confinement and starting the interpreter; no program runs in them
_PATIENCE = 3.0  # wall time in multiples of a limit that a program gets at most, if other work keeps it waiting
_SWALLOWED = (
    1.0  # further seconds for a test that swallows the runner's exception, as in the reference: 4 s a group, 3 s a test
)
_NOTICED = 0.25  # further seconds that the runner's exception may take until it ends a test

_LIMITS = sandbox.SandboxLimits(memory_bytes=2 << 30, output_bytes=64 << 20)  # of output: all tests of a group, as JSON

MOST_TEXT = 100_000
"""Characters of a test's output or error that are kept, more where a right output has more."""

Status = Literal["passed", "timeout", "failed", "uncompiled", "too_long"]


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """The limits of a group of tests. Times are seconds; the defaults are the reference's, which sets no other
    limit.
    """

    test_seconds: float = (
        3.0  # of the program's processes per test: of processor time, and of time in which they could have had it
    )
    group_seconds: float = 4.0  # of all tests of a group together, measured likewise
    resources: sandbox.SandboxLimits = _LIMITS


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """Where programs run. The pool is that of the process unless named."""

    limits: ExecutionLimits = ExecutionLimits()
    pool: ProgramPool = field(default_factory=shared_pool)


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """One test: ``passed`` means that the program ended; ``text`` is then its output, else ``timeout`` or ``failed:
    ...``. ``uncompiled``: it fails alike on every input, since it does not compile. ``too_long``: it ended, and printed
    more than any right output has; ``text`` is the beginning."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class GroupRun:
    """The outcomes in the order of the inputs; None where the group is lost, ``reason`` then says why."""

    outcomes: tuple[ProgramOutcome, ...] | None
    late: bool  # a time limit played a part
    reason: str = ""


def run_in_pool(pool: ProgramPool, run: Callable[[], GroupRun]) -> GroupRun:
    """``run``, a call of ``run_group``, concurrently with other programs. A program that ran out of time is run once
    more, alone, and the second run counts.

    Call it in one of the pool's threads. Raises SandboxFault if nothing could be run, UsageProblem below the minimum of
    protection.
    """
    with pool.beside() as place:
        found = run()
    if not (found.late and place.crowded):
        return found
    with pool.alone():
        return run()


def run_group(
    code: str,
    inputs: Sequence[str],
    where: ExecutionSettings,
    fixes: Fixes = PARITY,
    brief: float = 0.0,
    most: int = MOST_TEXT,
) -> GroupRun:
    """Run the program on every input, in one process of its own and an empty folder.

    A program that is found not to compile within ``brief`` seconds of processor time is tried on the first input only.
    ``most``: characters of each outcome's text; no right output is longer.
    """
    limits = where.limits
    test = limits.test_seconds + _SWALLOWED
    seconds = (
        max(limits.group_seconds, len(inputs) * limits.test_seconds + 1) if fixes.own_time else limits.group_seconds
    )
    order = {
        "code": code,
        "test_seconds": limits.test_seconds,
        "main": fixes.main_guard,
        "fresh": fixes.fresh_globals,
        "exits": fixes.exits,
        "buffers": fixes.buffers,
        "brief": brief,
        "words": fixes.words,
        "most": most,
    }
    tests = tuple(text.encode("utf-8", "surrogatepass") for text in inputs)
    with sandbox.scratch_folder() as folder:
        result = sandbox.run(
            _script(numpy="numpy" in code),
            folder=folder,
            limits=replace(limits.resources, wall_seconds=_START + _PATIENCE * seconds),
            stdin=json.dumps(order).encode("ascii"),
            steps=sandbox.Steps(tests, _PATIENCE * test, busy_seconds=test, total_seconds=seconds),
            keep=False,
        )
    return _read(result, len(inputs), limits.test_seconds + _NOTICED if fixes.own_time else None)


@lru_cache(maxsize=2)
def _script(*, numpy: bool) -> sandbox.Script:
    ending = f"prepare({[*package_folders()]!r}, with_numpy={numpy})\nif __name__ == '__main__':\n    main()\n"
    return sandbox.Script(_RUNNER.read_text("utf-8") + "\n\n" + ending)


def _read(result: sandbox.SandboxResult, count: int, most: float | None) -> GroupRun:
    """The answers count if every test has one, and the program kept within its limits. One that says that the program
    does not compile speaks for every test.

    ``most``: busy seconds of a test that count as passed; parity lets a test that swallows the exception go on.
    """
    found = [read for answer in result.answers if (read := _outcome(answer, most))]
    if len(found) == 1 and found[0][0].status == "uncompiled":
        found *= count
    if result.status == "ok" and len(found) == count:
        return GroupRun(tuple(outcome for outcome, _ in found), any(late for _, late in found))
    if result.status == "timeout":
        return GroupRun(None, True, "the time for the group of tests was over")
    return GroupRun(None, False, "the program ended its process" if result.status in ("ok", "error") else result.reason)


def _outcome(answer: sandbox.StepAnswer, most: float | None) -> tuple[ProgramOutcome, bool] | None:
    """The outcome in an answer, and whether the time was over; None if a program has written something else."""
    try:
        status, text, fired = json.loads(answer.content)
    except (ValueError, TypeError, RecursionError):
        return None
    if status not in get_args(Status):
        return None
    if most is not None and answer.busy_seconds > most:
        return ProgramOutcome("timeout", "timeout"), True
    return ProgramOutcome(status, str(text)), bool(fired)
