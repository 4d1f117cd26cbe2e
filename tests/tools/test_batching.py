"""Calls of several threads that become one call of a model."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentgauge.core.tools import Parameter, Tool
from tool_impls.base import BenchTool
from tool_impls.devices import Batched
from tool_impls.server.calls import QueuedCall, ToolRunner
from tool_impls.settings import ToolSettings


def together(model: Batched[int, int], values: list[int]) -> list[int | Exception]:
    """Results of calls from as many threads."""

    def one(value: int) -> int | Exception:
        try:
            return model(value)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(one, values))


def test_each_call_gets_its_own_result_and_busy_models_get_full_lists() -> None:
    sizes: list[int] = []

    def double(values: list[int]) -> list[int]:
        sizes.append(len(values))
        time.sleep(0.02)
        return [2 * value for value in values]

    assert together(Batched(double, 8), list(range(40))) == [2 * value for value in range(40)]
    assert max(sizes) <= 8 and sum(sizes) == 40 and len(sizes) < 20


def test_lone_call_does_not_wait_for_company() -> None:
    assert Batched(lambda values: [len(values)], 8)(5) == 1


def test_one_bad_value_fails_no_other() -> None:
    ready = threading.Barrier(6)

    def careful(values: list[int]) -> list[int]:
        if 3 in values:
            raise ValueError("three")
        return values

    model = Batched(careful, 8)

    def one(value: int) -> int | str:
        ready.wait()
        try:
            return model(value)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [0, 1, 2, "three", 4, 5]


def test_model_that_answers_too_few_is_an_error_for_all_and_nobody_waits() -> None:
    model: Batched[int, int] = Batched(lambda values: [], 8)
    results = together(model, [1, 2, 3])
    assert all(isinstance(result, ValueError) for result in results)
    with pytest.raises(ValueError, match="shorter"):
        model(1)


class Pair(BenchTool):
    """Two calls work at a time on a GPU, one on the processor."""

    meta = Tool("Pair", "", (), (Parameter("text"),))
    category = "logic"
    concurrency = 2

    def __init__(self) -> None:
        super().__init__(ToolSettings())
        self.at_work = self.most = 0

    def together(self, device: str) -> int:
        return 1 if device == "cpu" else self.concurrency

    def apply(self, folder: Path, /) -> str:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        time.sleep(0.05)
        self.at_work -= 1
        return "done"


@pytest.mark.parametrize(("device", "most"), [("cpu", 1), ("cuda:0", 2)])
def test_calls_wait_for_their_turn_before_their_time_runs(device: str, most: int, tmp_path: Path) -> None:
    tool = Pair()
    runner = ToolRunner([tool], device=device)
    begun: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(runner.run, QueuedCall("Pair", str(tmp_path), {}), lambda: begun.append(tool.at_work))
            for _ in "12"
        ]
        assert [call.result().status for call in calls] == [200, 200]
    assert tool.most == most
    assert len(begun) == 2 and max(begun) < most
