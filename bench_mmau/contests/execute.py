"""Run a program on the inputs of one group of tests, in the sandbox (MMAU spec 6.2, 8)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from agentgauge import sandbox
from agentgauge.sandbox.paths import package_folders
from bench_mmau.contests.pool import Pool, shared
from bench_mmau.fixes import PARITY, Fixes

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
    pool: Pool = field(default_factory=shared)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: ``passed`` means that the program ended; ``text`` is then its output, else ``timeout`` or ``failed:
    ...``. ``uncompiled``: it fails alike on every input, since it does not compile. ``too_long``: it ended, and printed
    more than any right output has; ``text`` is the beginning."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class GroupRun:
    """The outcomes in the order of the inputs; None where the group is lost, ``reason`` then says why."""

    outcomes: tuple[Outcome, ...] | None
    late: bool  # a time limit played a part
    reason: str = ""


def run_in_pool(pool: Pool, run: Callable[[], GroupRun]) -> GroupRun:
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


def _outcome(answer: sandbox.StepAnswer, most: float | None) -> tuple[Outcome, bool] | None:
    """The outcome in an answer, and whether the time was over; None if a program has written something else."""
    try:
        status, text, fired = json.loads(answer.content)
    except (ValueError, TypeError, RecursionError):
        return None
    if status not in get_args(Status):
        return None
    if most is not None and answer.busy_seconds > most:
        return Outcome("timeout", "timeout"), True
    return Outcome(status, str(text)), bool(fired)
