"""Run a program on the inputs of one group of tests, in the sandbox (MMAU spec 6.2, 8)."""

from __future__ import annotations

import json
import math
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bench_mmau.contests.fixes import PARITY, Fixes
from bench_mmau.contests.pool import Pool, shared
from harness import sandbox
from harness.sandbox.paths import package_folders

_RUNNER = Path(__file__).with_name("runner.py")
_OVER = 87  # runner.OVER
_START = 2.0  # seconds of wall time for building the confinement and starting the interpreter
_STARVED = 10.0  # wall time in multiples of the limit; the runner ends an idle program sooner

Status = Literal["passed", "timeout", "failed"]


@dataclass(frozen=True, slots=True)
class Room:
    """What a group of tests may use. Times are seconds; the defaults are the reference's, which sets no other limit."""

    test_seconds: float = 3.0  # of processor time per test; of wall time for a program that hardly computes
    group_seconds: float = 4.0  # of all tests of a group together, measured likewise
    memory_bytes: int = 2 << 30
    output_bytes: int = 64 << 20  # what all tests of a group print, as JSON
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    processes: int = 32


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where programs run. The pool is that of the process unless named."""

    room: Room = Room()
    pool: Pool = field(default_factory=shared)
    allow_unsafe: bool = False  # also below the minimum of protection


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: ``passed`` means that the program ended; ``text`` is then its output, else ``timeout`` or ``failed: ...``."""

    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class GroupRun:
    """The outcomes in the order of the inputs; None where the group is lost, ``reason`` then says why."""

    outcomes: tuple[Outcome, ...] | None
    late: bool  # a time limit played a part
    reason: str = ""


def run_in_pool(code: str, inputs: Sequence[str], where: Workplace, fixes: Fixes = PARITY) -> GroupRun:
    """As ``run_group``, beside others; a program that ran out of time there is run once more, alone, and that counts.

    Call it in one of the pool's threads. Raises SandboxFault if nothing could be run, UsageProblem below the minimum of protection.
    """
    with where.pool.beside() as place:
        found = run_group(code, inputs, where, fixes)
    if not (found.late and place.crowded):
        return found
    with where.pool.alone():
        return run_group(code, inputs, where, fixes)


def run_group(code: str, inputs: Sequence[str], where: Workplace, fixes: Fixes = PARITY) -> GroupRun:
    """Run the program on every input, in one fresh process and an empty folder."""
    room, token = where.room, secrets.token_hex(16)
    seconds = max(room.group_seconds, len(inputs) * room.test_seconds + 1) if fixes.own_time else room.group_seconds
    order = {
        "token": token,
        "code": code,
        "inputs": list(inputs),
        "test_seconds": room.test_seconds,
        "group_seconds": seconds,
        "path": package_folders(),
        "main": fixes.main_guard,
        "fresh": fixes.fresh_globals,
        "exits": fixes.exits,
        "buffers": fixes.buffers,
    }
    limits = sandbox.Limits(
        wall_seconds=_START + _STARVED * seconds,
        cpu_seconds=math.ceil(seconds) + 1,  # for programs that put away the runner's own timer
        memory_bytes=room.memory_bytes,
        output_bytes=room.output_bytes,
        file_bytes=room.file_bytes,
        disk_bytes=room.disk_bytes,
        processes=room.processes,
    )
    with sandbox.scratch_folder() as folder:
        result = sandbox.run(
            [sys.executable, "-I", "-S", "-c", _runner()],
            folder=folder,
            limits=limits,
            stdin=json.dumps(order).encode("ascii"),
            allow_unsafe=where.allow_unsafe,
        )
    return _read(result, token, len(inputs))


@lru_cache(maxsize=1)
def _runner() -> str:
    return _RUNNER.read_text("utf-8")


def _read(result: sandbox.SandboxResult, token: str, count: int) -> GroupRun:
    """Take the results from behind the token. Nothing else that arrived there counts."""
    if result.returncode in (_OVER, -signal.SIGVTALRM):
        return GroupRun(None, True, "the time for the group of tests was over")
    if result.status == "ok":
        _, behind, answer = result.stdout.rpartition(token)
        outcomes, fired = _decoded(answer, count) if behind else (None, False)
        if outcomes is not None:
            return GroupRun(outcomes, fired)
        return GroupRun(None, False, "the program ended its process")
    reason = "the program ended its process" if result.status == "error" else result.reason
    return GroupRun(None, result.status == "timeout", reason)


def _decoded(text: str, count: int) -> tuple[tuple[Outcome, ...] | None, bool]:
    try:
        answer = json.loads(text)
        outcomes = tuple(Outcome(status, str(found)) for status, found in answer["results"])
        fired = bool(answer["fired"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, False
    if len(outcomes) != count or any(outcome.status not in ("passed", "timeout", "failed") for outcome in outcomes):
        return None, False
    return outcomes, fired
