"""The pool itself: what becomes of calls when it is closed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from tool_impls.server import worker_pool
from tool_impls.server.calls import CallAnswer, QueuedCall
from tool_impls.server.worker import WorkerSpec
from tool_impls.server.worker_pool import ProcessPool
from tool_impls.settings import ToolSettings

STAYS = """
import os, time
from pathlib import Path
from tool_impls import base

class Stays(base.BenchTool):
    meta = base.tool("Stays", "Says that it has begun, and stays.", (base.text("begun"), base.text("once")), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /, begun, once):
        with open(begun, "a") as file:
            print(os.getpid(), file=file)
        if once == "dies" and len(Path(begun).read_text().splitlines()) == 1:
            os._exit(3)
        time.sleep(60)
"""  # noqa: E501


THREADS = """
import os
from tool_impls import base

class Threads(base.BenchTool):
    meta = base.tool("Threads", "says it", (), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder):
        return str(os.environ.get("OMP_NUM_THREADS"))
"""


WAITS = """
import time
from tool_impls import base

class Waits(base.BenchTool):
    meta = base.tool("Waits", "Works alone for 0.4 s.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 4

    def together(self, device):
        return 1

    def apply(self, folder, /, word):
        time.sleep(0.4)
        return word
"""


def running(pids: Iterable[str]) -> list[str]:
    """Those that are there, zombies left out."""
    return [pid for pid in pids if _state(pid) not in ("", "Z")]


def _state(pid: str) -> str:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children() -> list[str]:
    """Processes that this one has started, and that run."""
    found: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += (task / "children").read_text().split()
    return running(found)


def pool_of(tool: str, folder: Path) -> ProcessPool:
    (folder / "stays.py").write_text(STAYS)
    return ProcessPool([WorkerSpec(ToolSettings(), (tool,), (folder / "stays.py",), "cpu", None, folder)], {tool: 1})


def stays(folder: Path, once: str) -> QueuedCall:
    return QueuedCall("Stays", str(folder), {"begun": str(folder / "begun"), "once": once}, {}, False)


def assert_stopped(answer: CallAnswer) -> None:
    assert (answer.status, json.loads(answer.body)) == (503, {"detail": "the tool server is being stopped"})


@pytest.mark.parametrize(("once", "processes"), [("stays", 1), ("dies", 2)])
def test_calls_that_run_when_it_is_closed_are_not_begun_again(tmp_path: Path, once: str, processes: int) -> None:
    """Nor is one that has got a process of its own, since it took its first one with it."""
    begun = tmp_path / "begun"

    async def close_in_the_middle() -> CallAnswer:
        pool = pool_of("Stays", tmp_path)
        call = asyncio.create_task(pool.run(stays(tmp_path, once), 60))
        while not begun.exists() or len(begun.read_text().splitlines()) < processes:
            assert not call.done(), call.result()
            await asyncio.sleep(0.01)
        await pool.close()
        assert running(begun.read_text().split()) == []
        return await asyncio.wait_for(call, 10)

    assert_stopped(asyncio.run(close_in_the_middle()))
    assert len(begun.read_text().split()) == processes


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 12, 20])
def test_a_process_that_is_just_being_started_is_ended(tmp_path: Path, steps: int) -> None:
    before = children()

    async def close_at_the_start() -> CallAnswer:
        pool = pool_of("Stays", tmp_path)
        call = asyncio.create_task(pool.run(stays(tmp_path, "stays"), 60))
        for _ in range(steps):  # of the loop, in which the process is made
            await asyncio.sleep(0)
        await pool.close()
        left = [pid for pid in children() if pid not in before]
        for pid in left:  # otherwise the loop would wait for them
            os.kill(int(pid), signal.SIGKILL)
        assert left == []
        return await asyncio.wait_for(call, 10)

    assert_stopped(asyncio.run(close_at_the_start()))


@pytest.mark.parametrize(
    ("threads", "of_the_user", "there"), [(3, None, "3"), (3, "5", "5"), (None, "5", "5"), (None, None, "None")]
)
def test_libraries_take_the_threads_of_their_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int | None, of_the_user: str | None, there: str
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if of_the_user:
        monkeypatch.setenv("OMP_NUM_THREADS", of_the_user)
    (tmp_path / "threads.py").write_text(THREADS)
    spec = WorkerSpec(ToolSettings(), ("Threads",), (tmp_path / "threads.py",), "cpu", None, tmp_path, False, threads)

    async def ask() -> CallAnswer:
        pool = ProcessPool([spec], {"Threads": 1})
        try:
            return await pool.run(QueuedCall("Threads", str(tmp_path), {}, {}, False), 60)
        finally:
            await pool.close()

    answer = asyncio.run(ask())
    assert (answer.status, json.loads(answer.body)) == (200, there)


def test_a_call_that_comes_late_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call_late() -> CallAnswer:
        pool = pool_of("Calculator", tmp_path)
        await pool.close()
        monkeypatch.delattr(asyncio, "create_subprocess_exec")
        return await pool.run(QueuedCall("Calculator", str(tmp_path), {"expression": "1"}, {}, False), 60)

    assert_stopped(asyncio.run(call_late()))


def test_a_call_that_waits_for_others_in_its_process_has_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of loading, which is over, nor its own, which has not begun."""
    (tmp_path / "waits.py").write_text(WAITS)
    pool = ProcessPool(
        [WorkerSpec(ToolSettings(), ("Waits",), (tmp_path / "waits.py",), "cpu", None, tmp_path)], {"Waits": 4}
    )

    async def calls() -> list[int]:
        try:
            first = await pool.run(QueuedCall("Waits", str(tmp_path), {"word": "0"}), 5)  # the process has started
            monkeypatch.setattr(worker_pool, "LOAD_SECONDS", 0.9)
            rest = [pool.run(QueuedCall("Waits", str(tmp_path), {"word": word}), 0.9) for word in "1234"]
            return [first.status, *(answer.status for answer in await asyncio.gather(*rest))]
        finally:
            await pool.close()

    assert asyncio.run(calls()) == [200] * 5
