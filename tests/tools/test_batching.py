"""Calls of several threads that become one call of a model."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tool_impls.batching import Batched


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
