"""However many workers there are: no more notebooks and conversions at a time than processors, and nothing quick
waits for them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentgauge.run.thread_pools import drop_waiting, in_cpu_slot, processors
from bench_mmau import run
from bench_mmau.contests import execute as contest_execute
from bench_mmau.notebooks import execute

ROOT = Path(__file__).resolve().parents[2]

WORKER = """
import asyncio, json, sys, time
from bench_mmau import run
from bench_mmau.contests import execute as contests
from bench_mmau.notebooks import execute
from agentgauge.run import thread_pools

thread_pools.processors = contests.processors = lambda: 2  # whatever this machine has
spans = []

def work(*_, **__):
    begun = time.monotonic()
    time.sleep(0.05)
    spans.append((begun, time.monotonic()))

execute.run = work

async def main():
    notebooks = [run._executed(None, None, frozenset()) for _ in range(4)]
    await asyncio.gather(*notebooks, *(thread_pools.in_cpu_slot("deliverables", work) for _ in range(4)))

asyncio.run(main())
print(json.dumps(spans))
"""


def test_three_workers_run_no_more_notebooks_and_conversions_at_a_time_than_there_are_processors(
    tmp_path: Path,
) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True, env=env) for _ in range(3)
    ]
    spans = [span for worker in workers for span in json.loads(worker.communicate(timeout=60)[0])]
    assert len(spans) == 24
    assert 1 <= max(sum(begun <= at < ended for begun, ended in spans) for at, _ in spans) <= 2


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Notebooks, contests and conversions that go on until they are let go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(contest_execute, "_made", [])
    event = threading.Event()

    def wait(*args: object, **options: object) -> None:
        assert event.wait(30)

    monkeypatch.setattr(execute, "run", wait)
    yield event, wait
    drop_waiting()


def test_what_takes_minutes_keeps_the_loop_and_what_is_quick_free(held) -> None:
    event, wait = held
    many = 3 * processors() + 8

    async def scene() -> None:
        long = [asyncio.ensure_future(run._executed(None, None, frozenset())) for _ in range(many)]  # type: ignore[arg-type]
        long += [asyncio.ensure_future(in_cpu_slot("deliverables", wait)) for _ in range(many)]
        long += [asyncio.ensure_future(run.in_thread_pool(run.CONTESTS, wait)) for _ in range(many)]
        await asyncio.sleep(0.1)
        assert (
            await asyncio.wait_for(asyncio.to_thread(lambda: "a file, or a host name"), 20) == "a file, or a host name"
        )
        assert not any(one.done() for one in long)
        event.set()
        await asyncio.wait_for(asyncio.gather(*long), 20)

    asyncio.run(scene())


def test_at_the_end_of_a_run_that_is_cut_short_what_has_not_begun_is_given_up(held) -> None:
    event, wait = held
    begun: list[int] = []

    def job(number: int) -> None:
        begun.append(number)
        wait()

    async def scene() -> None:
        waiting = [
            asyncio.wrap_future(contest_execute.shared_pool().submit(lambda number=number: job(number)))
            for number in range(50)
        ]
        await asyncio.sleep(0.1)
        drop_waiting()
        event.set()
        await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 20)

    asyncio.run(scene())
    assert 1 <= len(begun) <= processors()
