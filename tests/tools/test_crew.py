"""The crew itself: what becomes of calls when it is closed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tool_impls.crew import Processes
from tool_impls.settings import ToolSettings
from tool_impls.work import Answer, Order
from tool_impls.worker import Start

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
"""


@pytest.mark.parametrize(("once", "processes"), [("stays", 1), ("dies", 2)])
def test_calls_that_run_when_it_is_closed_are_not_begun_again(tmp_path: Path, once: str, processes: int) -> None:
    """Nor is one that has got a process of its own, since it took its first one with it."""
    (tmp_path / "stays.py").write_text(STAYS)
    begun = tmp_path / "begun"

    async def close_in_the_middle() -> Answer:
        start = Start(ToolSettings(), ("Stays",), (str(tmp_path / "stays.py"),), "cpu", None, str(tmp_path))
        crew = Processes([start], {"Stays": 1})
        call = asyncio.create_task(crew.run(Order("Stays", str(tmp_path), {"begun": str(begun), "once": once}, {}, False), 60))
        while not begun.exists() or len(begun.read_text().splitlines()) < processes:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await crew.close()
        return await asyncio.wait_for(call, 10)

    answer = asyncio.run(close_in_the_middle())
    assert (answer.status, json.loads(answer.body)) == (503, {"detail": "the tool server is being stopped"})
    pids = begun.read_text().split()
    assert len(pids) == processes and not any(Path("/proc", pid).exists() for pid in pids)


def test_a_call_that_comes_late_starts_no_process(tmp_path: Path) -> None:
    async def call_late() -> Answer:
        crew = Processes([Start(ToolSettings(), ("Calculator",), (), "cpu", None, str(tmp_path))], {"Calculator": 1})
        await crew.close()
        return await crew.run(Order("Calculator", str(tmp_path), {"expression": "1"}, {}, False), 60)

    assert asyncio.run(call_late()).status == 503
