"""The tests of a comparison: exact where they say so, no more false alarms than promised, and as much power as the
page tells."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from agentgauge_reports.comparison import correct, paired
from agentgauge_reports.comparison.paired import Effect, TaskPairs, effects, holm

from agentgauge.core.estimate import MetricFormula
from tests.docs.pages import rows, text
from tests.reports import power
from tests.reports.power import F1, SHARE

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.slow


def shares(values: list[float]) -> list[dict[str, float]]:
    return [{"right": value, "all": 1.0} for value in values]


def effect(first: list[float], second: list[float]) -> Effect:
    return effects(shares(first), shares(second), SHARE)["Acc"]


@pytest.mark.parametrize(
    ("gained", "lost", "same", "p", "worse"),
    [
        (0, 0, 5, 1.0, 1.0),
        (1, 0, 9, 1.0, 1.0),
        (6, 0, 4, 0.03125, 1.0),
        (0, 6, 0, 0.03125, 0.015625),
        (5, 1, 4, 0.21875, 0.984375),
        (1, 8, 20, 0.0390625, 0.01953125),
        (4, 4, 2, 1.0, 0.63671875),
        (25, 10, 300, 0.0166738, 0.9970059),
    ],
)
def test_right_and_wrong_answers_are_compared_by_mcnemars_exact_test(gained, lost, same, p, worse):
    found = effect([0.0] * gained + [1.0] * (lost + same), [1.0] * gained + [0.0] * lost + [1.0] * same)
    assert (found.p, found.p_worse) == (pytest.approx(p, abs=1e-6), pytest.approx(worse, abs=1e-6))
    assert found.differing == gained + lost
    assert found.method == (paired.MCNEMAR if gained + lost else paired.NO_DIFFERENCE)
    assert found.attainable == min(1.0, 2 ** (1 - gained - lost))


def test_shares_of_attempts_are_compared_by_turning_every_sign():
    first, second = [0.25, 0.5, 1.0, 0.0, 0.75, 0.5], [0.5, 1.0, 0.75, 1.0, 0.75, 0.25]
    moves = [b - a for a, b in zip(first, second, strict=True) if a != b]
    sums = [
        sum(sign * move for sign, move in zip(signs, moves, strict=True))
        for signs in itertools.product((1, -1), repeat=len(moves))
    ]
    found = effect(first, second)
    assert found.p == pytest.approx(sum(abs(total) >= abs(sum(moves)) - 1e-12 for total in sums) / len(sums))
    assert found.p_worse == pytest.approx(sum(total <= sum(moves) + 1e-12 for total in sums) / len(sums))
    assert found.method == paired.ALL_SIGNS


def test_signs_that_are_drawn_give_the_p_of_all_signs():
    source = random.Random(5)
    first, second = ([source.randrange(5) / 4 for _ in range(20)] for _ in range(2))
    moves = np.array(second) - np.array(first)
    sums = (1 - 2 * (np.arange(2**20)[:, None] >> np.arange(20) & 1)) @ moves
    drawn = effect(first, second)
    assert drawn.method == paired.DRAWN_SIGNS
    assert drawn.p == pytest.approx(np.mean(abs(sums) >= abs(moves.sum()) - 1e-12), abs=0.012)
    assert drawn.p_worse == pytest.approx(np.mean(sums <= moves.sum() + 1e-12), abs=0.012)


def test_the_same_samples_in_another_order_and_runs_that_change_places_tell_the_same():
    source = random.Random(7)
    pairs = [(source.randrange(4) / 4, source.randrange(4) / 4) for _ in range(60)]
    there = effect([a for a, _ in pairs], [b for _, b in pairs])
    back = effect([b for _, b in pairs], [a for a, _ in pairs])
    assert (back.difference, back.low, back.high) == pytest.approx((-there.difference, -there.high, -there.low))
    assert back.p == pytest.approx(there.p) and back.detectable == pytest.approx(there.detectable)
    assert back.p_worse + there.p_worse >= 1


@pytest.mark.parametrize(
    ("gained", "lost", "same", "low", "high"),
    # difference of the shares (gained + 1, lost + 1 of n + 2) ± t times its error, worked out by hand
    [(12, 4, 84, -0.30304, 15.98931), (0, 0, 100, -2.76399, 2.76399), (0, 0, 10, -27.09225, 27.09225)],
)
def test_the_interval_is_that_of_bonett_and_price_with_students_t(gained, lost, same, low, high):
    found = effect([0.0] * gained + [1.0] * (lost + same), [1.0] * gained + [0.0] * lost + [1.0] * same)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_a_figure_without_a_value_a_count_and_a_single_sample_are_not_tested():
    formula = MetricFormula(
        lambda sums: {"Acc": 100 * sums["right"] / sums["all"] if sums["all"] else None, "Calls": sums["right"]},
        {"Acc": ("all",)},
    )
    found = effects([{"right": 1.0, "all": 0.0}] * 3, [{"right": 2.0, "all": 0.0}] * 3, formula)
    assert found["Acc"] == Effect(None, None, None, 3)
    assert found["Calls"] == Effect(3.0, 6.0, 3.0, 3)
    assert effect([1.0], [0.0]) == Effect(100.0, 0.0, -100.0, 1)


def test_a_figure_rests_on_the_samples_that_have_part_in_it():
    first = [
        {"gold": 2.0, "hit": 1.0, "said": 2.0},
        {"gold": 0.0, "hit": 0.0, "said": 0.0},
        {"gold": 1.0, "hit": 1.0, "said": 1.0},
    ]
    assert effects(first, first, F1)["F1"].n == 2


def test_the_interval_of_a_plain_mean_is_not_cut_off_at_its_scale():
    turns = MetricFormula(
        lambda sums: {"Turns": sums["turns"] / sums["all"]}, {"Turns": ("all",)}, scale={"Turns": 1.0}
    )
    first, second = ([{"turns": each, "all": 1.0} for each in run] for run in ((2.0, 3.0, 4.0), (8.0, 9.0, 9.0)))
    found = effects(first, second, turns)["Turns"]
    assert found.low < found.difference < found.high and found.difference == pytest.approx(17 / 3)


def test_holms_correction_is_that_of_his_paper():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}


def made(task: str, **p_values: tuple[float, int]) -> TaskPairs:
    """Figures with given p-values and numbers of pairs that differ."""
    found = {name: Effect(0.0, 1.0, 1.0, 50, p=p, differing=k, test=(p,)) for name, (p, k) in p_values.items()}
    return TaskPairs(task, 50, 50, {}, found, (), ())


def test_one_test_with_two_names_and_one_that_cannot_come_out_do_not_cost_power():
    corrected, family = correct(
        {"B": [made("t", one=(0.02, 9), again=(0.02, 9), few=(0.5, 2)), made("u", other=(0.04, 7))]}
    )
    assert family == 2
    assert corrected == {
        ("B", "t", "one"): 0.04,
        ("B", "t", "again"): 0.04,
        ("B", "u", "other"): 0.04,
        ("B", "t", "few"): 1.0,
    }


KINDS = {
    "right or wrong": (power.plain, SHARE, 60),
    "sessions of four": (power.sessions, SHARE, 20),
    "unlike weights": (power.weighted, SHARE, 40),
    "F1 of sums": (power.searches, F1, 40),
}


@pytest.fixture
def few_draws(monkeypatch):
    """The test is exact for any number of draws; fewer are quicker."""
    monkeypatch.setattr(paired, "DRAWS", 499)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("kind", KINDS)
def test_equal_models_are_told_apart_in_at_most_six_percent_of_comparisons(kind):
    make, formula, n = KINDS[kind]
    assert power.found(lambda source: make(source, n, 0.0), formula, 1000, seed=1) <= 0.06


@pytest.mark.usefixtures("few_draws")
def test_a_whole_comparison_of_equal_models_says_so_in_at_most_six_percent_of_cases():
    source = np.random.default_rng(2)
    alarms = 0
    for _ in range(400):
        tasks = []
        for kind, (make, formula, n) in KINDS.items():
            found = effects(*make(source, n, 0.0), formula)
            tasks.append(TaskPairs(kind, n, n, {}, found, (), ()))
        alarms += min(correct({"B": tasks})[0].values()) <= paired.ALPHA
    assert 0 < alarms / 400 <= 0.06


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_holds_the_true_difference_of_equal_models_and_the_detectable_one_is_detected(kind):
    make, formula, n = KINDS[kind]
    source = np.random.default_rng(3)
    held, known = 0, []
    for _ in range(300):
        (found,) = effects(*make(source, n, 0.0), formula).values()
        held += found.low <= 0 <= found.high
        known.append(found.detectable)
    assert held / 300 >= 0.93
    if formula is SHARE:
        better = math.fsum(known) / len(known) / 100
        assert 0.6 <= power.found(lambda source: make(source, n, better), formula, 300, seed=4) <= 0.9


def test_the_page_tells_the_power_that_is_measured():
    table = rows(text("docs/comparing.md"), "difference", *(f"{n} samples" for n in power.SAMPLES))
    told = {int(row[0]): [int(cell.removesuffix(" %")) for cell in row[1:]] for row in table}
    assert list(told) == [0, *power.DIFFERENCES]
    for difference, place in ((10, 1), (20, 0)):
        assert told[difference][place] == power.power(power.SAMPLES[place], difference)
    assert all(cells == sorted(cells) for difference, cells in told.items() if difference >= 5)
