"""Metrics from sums: values do not depend on order, intervals are the jackknife's or Wilson's."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

from harness.estimate import by_sample, from_totals, totals


def ratio(sums: Mapping[str, float]) -> dict[str, float | None]:
    return {"share": 100 * sums["right"] / sums["all"] if sums.get("all") else None, "count": sums.get("right", 0.0)}


RESTS_ON = {"share": ("all",)}


def test_the_jackknife_of_a_mean_is_the_standard_error() -> None:
    values = [{"right": float(right), "all": 1.0} for right in (1, 0, 1, 1, 0, 0, 1, 1)]
    metric = from_totals(values, ratio, rests_on=RESTS_ON)["share"]
    error = 100 * math.sqrt(0.625 * 0.375 / 7)
    assert metric.value == pytest.approx(62.5)
    assert metric.low is not None and metric.high is not None
    assert (metric.low, metric.high) == pytest.approx((62.5 - 1.96 * error, 62.5 + 1.96 * error), abs=0.01)
    assert metric.n == 8


def test_the_order_of_samples_changes_no_bit() -> None:
    values = [{"right": random.Random(number).random(), "all": 1.0} for number in range(50)]
    shuffled = values[:]
    random.Random(1).shuffle(shuffled)
    assert from_totals(values, ratio) == from_totals(shuffled, ratio)


@pytest.mark.parametrize(("right", "low", "high"), [(1.0, 72.2, 100.0), (0.0, 0.0, 27.8)])
def test_samples_that_all_agree_get_wilsons_interval(right: float, low: float, high: float) -> None:
    metric = from_totals([{"right": right, "all": 1.0}] * 10, ratio, rests_on=RESTS_ON)["share"]
    assert (metric.low, metric.high) == pytest.approx((low, high), abs=0.1)


def test_samples_without_part_in_a_metric_do_not_count() -> None:
    values = [{"right": 1.0, "all": 1.0}] * 3 + [{"right": 0.0, "all": 0.0}] * 5
    metrics = from_totals(values, ratio, rests_on=RESTS_ON)
    assert (metrics["share"].n, metrics["count"].n) == (3, 8)


def test_a_count_has_no_interval() -> None:
    metric = from_totals([{"right": 1.0, "all": 1.0}] * 4, ratio, rests_on=RESTS_ON)["count"]
    assert (metric.value, metric.low, metric.high) == (4.0, None, None)


@pytest.mark.parametrize("values", [[], [{"right": 1.0, "all": 1.0}], [{"right": 0.0, "all": 0.0}] * 3])
def test_too_little_data_gives_no_interval(values: list[dict[str, float]]) -> None:
    metric = from_totals(values, ratio, rests_on=RESTS_ON)["share"]
    assert (metric.low, metric.high) == (None, None)
    assert metric.value == (100.0 if len(values) == 1 else None)


def test_attempts_are_averaged_before_anything_else() -> None:
    assert by_sample([("a", {"x": 1.0}), ("b", {"x": 3.0}), ("a", {"x": 0.0})]) == [{"x": 0.5}, {"x": 3.0}]
    assert totals([{"x": 0.1}] * 10) == {"x": 1.0}
