"""Metrics from sums: values do not depend on order, and every kind of figure gets the interval that fits it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence

import pytest

from agentgauge.core.estimate import (
    MetricFormula,
    Values,
    by_sample,
    estimate,
    freedom_of,
    from_totals,
    kinds,
    student,
    symmetric,
    totals,
    wilson,
)
from agentgauge.core.types import Score


def ratio(sums: Mapping[str, float]) -> dict[str, float | None]:
    return {"share": 100 * sums["right"] / sums["all"] if sums.get("all") else None, "count": sums.get("right", 0.0)}


FORMULA = MetricFormula(ratio, {"share": ("all",)})


def values(*right: float, of: float = 1.0) -> list[Values]:
    return [{"right": one, "all": of} for one in right]


def test_one_right_or_wrong_per_sample_gives_wilsons_interval() -> None:
    metric = from_totals(values(1, 0, 1, 1, 0, 0, 1, 1), FORMULA)["share"]
    low, high = wilson(5 / 8, 8)
    assert (metric.value, metric.low, metric.high, metric.n) == pytest.approx((62.5, 100 * low, 100 * high, 8))


def test_the_error_of_a_mean_is_the_usual_one_with_students_t() -> None:
    """Values beyond 100 are no share, so the interval is symmetric."""
    contributed = values(1.1, 0.9, 1.1, 0.9)
    metric = from_totals(contributed, FORMULA)["share"]
    low, high = symmetric(1.0, math.sqrt(4 * 0.1**2 / 3 / 4), 3)
    assert (metric.low, metric.high) == pytest.approx((100 * max(0.0, low), min(100.0, 100 * high)))


def test_shares_that_differ_get_wilsons_interval_for_the_effective_number() -> None:
    contributed = values(0.2, 0.4, 0.9, 0.6, 0.7)
    metric = from_totals(contributed, FORMULA)["share"]
    mean = 0.56
    variance = math.fsum((one["right"] - mean) ** 2 for one in contributed) / 4 / 5
    low, high = wilson(
        mean, mean * (1 - mean) / variance, student(freedom_of([one["right"] - mean for one in contributed]))
    )
    assert (metric.low, metric.high) == pytest.approx((100 * low, 100 * high))


def test_what_samples_contribute_is_computed_once_for_each_kind() -> None:
    contributed = [*values(1, 0, 1, 1), {"right": 1.0}]
    distinct, which = kinds(contributed)
    assert [distinct[kind] for kind in which] == contributed
    assert len(distinct) == 3
    asked: list[Mapping[str, float]] = []
    from_totals(
        values(*[1] * 50, *[0] * 50), MetricFormula(lambda sums: asked.append(sums) or ratio(sums), {"share": ("all",)})
    )
    assert len(asked) == 2 * 2 + 1  # of each kind alone, of all without one of it, of all


def test_a_figure_may_be_left_out_where_it_has_no_denominator() -> None:
    formula = MetricFormula(
        lambda sums: {name: one for name, one in ratio(sums).items() if one is not None}, FORMULA.rests_on
    )
    contributed = values(1, 1, 0) + values(0, of=0)
    assert from_totals(contributed, formula)["share"] == from_totals(contributed, FORMULA)["share"]


def test_the_order_of_samples_changes_no_bit() -> None:
    contributed = values(*(random.Random(number).random() for number in range(50)))
    shuffled = contributed[:]
    random.Random(1).shuffle(shuffled)
    assert from_totals(contributed, FORMULA) == from_totals(shuffled, FORMULA)


@pytest.mark.parametrize(("right", "low", "high"), [(1.0, 72.2, 100.0), (0.0, 0.0, 27.8)])
def test_samples_that_all_agree_get_wilsons_interval(right: float, low: float, high: float) -> None:
    for weight in (1.0, 3.0):  # a sample counts once, however many parts it has
        metric = from_totals(values(*[right * weight] * 10, of=weight), FORMULA)["share"]
        assert (metric.low, metric.high) == pytest.approx((low, high), abs=0.1)
        assert metric.low == 0 or metric.high == 100


def test_samples_without_part_in_a_metric_do_not_count() -> None:
    metrics = from_totals(values(1, 1, 1) + values(0, 0, 0, 0, 0, of=0), FORMULA)
    assert (metrics["share"].n, metrics["count"].n) == (3, 8)


def test_a_count_has_no_interval() -> None:
    metric = from_totals(values(1, 1, 1, 1), FORMULA)["count"]
    assert (metric.value, metric.low, metric.high) == (4.0, None, None)


@pytest.mark.parametrize("contributed", [[], values(1), values(0, 0, 0, of=0), values(1) + values(0, of=0)])
def test_too_little_data_gives_no_interval(contributed: list[Values]) -> None:
    metric = from_totals(contributed, FORMULA)["share"]
    assert (metric.low, metric.high) == (None, None)
    assert metric.value == (100.0 if metric.n else None)


def test_two_samples_that_disagree_say_nothing() -> None:
    metric = from_totals([{"right": 8.0, "all": 8.0}, {"right": 0.0, "all": 8.0}], FORMULA)["share"]
    assert (metric.low, metric.high) == (0, 100)


def test_a_figure_over_100_has_an_interval_around_it() -> None:
    metric = from_totals(values(2, 1, 1, 2, 1), FORMULA)["share"]
    assert metric.low is not None and metric.high is not None
    assert metric.low < 140 < metric.high and metric.high > 150


def test_a_figure_on_another_scale_has_its_interval_there() -> None:
    formula = MetricFormula(
        lambda sums: {"score": 10 * sums["right"] / sums["all"]}, {"score": ("all",)}, scale={"score": 10.0}
    )
    contributed = values(0.2, 0.4, 0.9, 0.6, 0.7)
    one, other = from_totals(contributed, formula)["score"], from_totals(contributed, FORMULA)["share"]
    assert one.low is not None and one.high is not None
    assert (10 * one.low, 10 * one.high) == pytest.approx((other.low, other.high))


def scores(groups: Sequence[Sequence[float]]) -> list[Score]:
    return [
        Score(one == 1, {"right": one, "all": 1.0}, group=f"g{number}")
        for number, group in enumerate(groups)
        for one in group
    ]


def test_groups_are_what_varies_and_samples_are_what_counts() -> None:
    together = estimate(scores([[1, 1, 1, 1], [0, 0, 0, 0]] * 5), FORMULA)["share"]
    apart = estimate(scores([[1, 1, 0, 0], [1, 0, 1, 0]] * 5), FORMULA)["share"]
    alone = estimate([Score(one == 1, {"right": one, "all": 1.0}) for one in (1.0, 0.0) * 20], FORMULA)["share"]
    assert together.value == apart.value == alone.value == 50
    assert together.n == apart.n == alone.n == 40
    widths = [
        metric.high - metric.low for metric in (together, alone) if metric.low is not None and metric.high is not None
    ]
    assert widths[0] > 1.4 * widths[1]


def test_a_figure_of_what_joining_makes_counts_groups() -> None:
    def join(group: Sequence[Values]) -> Values:
        return {**totals(group), "whole": 1.0, "whole right": math.prod(one["right"] for one in group)}

    formula = MetricFormula(
        lambda sums: {"whole": 100 * sums["whole right"] / sums["whole"]}, {"whole": ("whole",)}, join=join
    )
    metric = estimate(scores([[1, 1], [0, 1], [1, 1], [1, 0]]), formula)["whole"]
    assert (metric.value, metric.n) == (50, 4)
    assert (metric.low, metric.high) == pytest.approx([100 * end for end in wilson(0.5, 4)])


def test_an_incomplete_group_counts_in_figures_of_samples_alone() -> None:
    def join(group: Sequence[Values]) -> Values:
        return {**totals(group), "whole": 1.0, "whole right": math.prod(one["right"] for one in group)}

    formula = MetricFormula(
        lambda sums: {
            "share": 100 * sums["right"] / sums["all"],
            "whole": 100 * sums["whole right"] / sums["whole"] if sums.get("whole") else None,
        },
        {"share": ("all",), "whole": ("whole",)},
        join=join,
    )
    given = scores([[1, 1], [1], [0, 1]])
    assert formula.of_groups(given) == ["whole"]
    found = estimate(given, formula, incomplete={"g1"})
    assert (found["whole"].value, found["whole"].n, found["share"].value, found["share"].n) == (50, 2, 80, 5)
    found = estimate(given, formula, incomplete={"g0", "g1", "g2"})
    assert (found["whole"].value, found["whole"].n, found["share"].value) == (None, 0, 80)
    assert FORMULA.of_groups(given) == []


def test_attempts_are_averaged_before_anything_else() -> None:
    tries = [
        ("a", Score(True, {"x": 1.0}, group="g")),
        ("b", Score(True, {"x": 3.0})),
        ("a", Score(False, {"x": 0.0, "y": 1.0}, group="g")),
    ]
    found = by_sample(tries)
    assert {sample: score.values for sample, score in found.items()} == {"a": {"x": 0.5, "y": 0.5}, "b": {"x": 3.0}}
    assert (found["a"].passed, found["a"].group, found["b"].passed) == (False, "g", True)
    assert totals([{"x": 0.1}] * 10) == {"x": 1.0}


def test_thousands_of_samples_and_dozens_of_figures_take_a_moment() -> None:
    names = [f"figure {number}" for number in range(30)]
    formula = MetricFormula(
        lambda sums: {name: 100 * sums[name] / sums["all"] if sums.get("all") else None for name in names},
        dict.fromkeys(names, ("all",)),
    )
    draw = random.Random(5)
    many = [Score(False, {"all": 1.0, **{name: draw.random() for name in names}}) for _ in range(8000)]
    start = time.process_time()
    assert estimate(many, formula)["figure 0"].n == 8000
    assert time.process_time() - start < 4  # half of that or less on an idle machine
