"""A tool box whose server is not there yet: one case waits for it, and the others are not begun."""

from __future__ import annotations

import asyncio

import pytest

from agentgauge.core.errors import ToolFault
from agentgauge.run.run_services import PendingToolBox


class Late:
    """A box that answers when the test lets it."""

    def __init__(self, problem: Exception | None) -> None:
        self.problem = problem
        self.there = asyncio.Event()

    async def catalog(self):
        await self.there.wait()
        if self.problem:
            raise self.problem
        return {}


@pytest.mark.parametrize("problem", [None, ToolFault("it is gone", cause="tool server")])
def test_one_case_waits_and_then_all_are_let_in(problem):
    async def scene():
        box, told = Late(problem), []
        arriving = PendingToolBox(box, lambda: told.append((arriving.waiting, arriving.takes_more)))
        assert arriving.takes_more
        first = asyncio.create_task(arriving.catalog())
        await asyncio.sleep(0)
        box.there.set()
        found = await asyncio.gather(first, return_exceptions=True)
        return found, told

    found, told = asyncio.run(scene())
    assert found == [problem or {}]
    assert told == [(1, False), (0, True)]
