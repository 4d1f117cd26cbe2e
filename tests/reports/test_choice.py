"""Which run to take: measures, the Pareto front, the sentence, and the plots."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from agentgauge_reports.comparison import compare
from agentgauge_reports.comparison.choice import front, percentile
from agentgauge_reports.comparison.page import page
from agentgauge_reports.comparison.pictures import Scale, picture

from agentgauge.core.types import Transcript, Usage
from tests.reports.runs import TASKS, record, write_run


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 50, (3.0, None, None)),
        (range(1, 101), 50, (50, 40, 61)),  # ranks 50 ± 9.8
        (range(1, 101), 90, (90, 84, 97)),  # ranks 90 ± 5.88
        (range(1, 111), 90, (99, 92, 107)),  # 0.9 * 110 is more than 99 in floating point
        (range(1, 11), 90, (9, None, None)),  # rank 9 ± 1.86, of ten
    ],
)
def test_a_percentile_has_the_interval_of_its_ranks(values, share, expected):
    found = percentile([*values], share)
    assert tuple(found[end] for end in ("value", "low", "high")) == expected


def row(run, value, usd):
    return {"run": run, "value": value, "usd": None if usd is None else {"value": usd}}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("A", 90, 5), ("B", 80, 1), ("C", 70, 3)], ["B", "A"]),  # B is better and cheaper than C
        ([("A", 90, 5), ("B", 90, 5)], ["A", "B"]),  # neither is better
        ([("A", 90, 5), ("B", 90, 4)], ["B"]),
        ([("A", 90, None), ("B", 10, 4)], ["B"]),  # nobody knows what A cost
    ],
)
def test_a_run_is_on_the_front_unless_another_is_as_good_and_as_cheap(rows, expected):
    assert front([row(*one) for one in rows], "usd") == expected


def run_of(folder, model, passed, usd, seconds, n=20):
    def case(number):
        one = record(number, passed=number < passed)
        said = Transcript(None, (), Usage(1, 100, 10, usd), seconds, 0)
        return replace(one, transcript=said)

    return write_run(folder, map(case, range(n)), model=model)


@pytest.fixture
def three(tmp_path):
    runs = (("a", "<big>", 18, 0.04, 2.0), ("b", "small", 15, 0.01, 1.0), ("c", "slow", 9, 0.02, 9.0))
    return [run_of(tmp_path / name, *rest) for name, *rest in runs]


def test_a_comparison_says_which_run_is_highest_cheapest_quickest_and_behind(three, tmp_path):
    (choice,) = compare(three, tmp_path, TASKS)["choices"]
    assert choice["sentence"] == (
        "Toy Acc: A is highest with 90.0 (69.9 to 97.2). B costs least, $0.0100 a case instead of $0.0400 and is"
        " quickest, 1.0 s a case instead of 2.0 s, with 75.0 (53.1 to 88.8). C is behind B, and ahead of it in no"
        " measure."
    )
    assert choice["fronts"]["usd"] == choice["fronts"]["p50"] == ["B", "A"]
    assert choice["alike"]


def test_tokens_are_named_where_one_price_alone_is_known(tmp_path):
    runs = [run_of(tmp_path / name, name, 5, usd, 1.0) for name, usd in (("a", 0.01), ("b", 0.0))]
    (choice,) = compare(runs, tmp_path, TASKS)["choices"]
    assert "takes the fewest tokens, 110 tokens a case" in choice["sentence"] and "$" not in choice["sentence"]


@pytest.mark.parametrize(
    ("passed", "says"),
    [
        ((5, 5), "Toy Acc: A and B are equal with 25.0."),
        ((5, 5, 4), "Toy Acc: A and B are highest with 25.0."),
        ((5, 4), "Toy Acc: A is highest with 25.0 (11.2 to 46.9)."),
    ],
)
def test_runs_with_the_same_value_have_no_interval_of_one_of_them(tmp_path, passed, says):
    runs = [run_of(tmp_path / str(number), "m", right, 0.0, 1.0) for number, right in enumerate(passed)]
    (choice,) = compare(runs, tmp_path, TASKS)["choices"]
    assert choice["sentence"].startswith(says)


def test_runs_of_other_cases_are_not_ranked_in_silence(tmp_path):
    runs = [run_of(tmp_path / name, name, 5, 0.0, 1.0, n) for name, n in (("a", 10), ("b", 12))]
    (choice,) = compare(runs, tmp_path, TASKS)["choices"]
    assert choice["sentence"].endswith(
        "do not have the same cases or scoring, so these figures do not say which is better."
    )
    assert "usd" not in choice["fronts"]  # no prices are known


def test_the_plots_are_a_picture_by_themselves(three, tmp_path):
    data = compare(three, tmp_path, TASKS)
    drawn = picture(data["choices"], {run["letter"]: run["model"] for run in data["runs"]})
    tree = ElementTree.fromstring(drawn)
    texts = [element.text for element in tree.iter() if element.tag.endswith("text")]
    assert "A: <big>" in texts and texts.count("Toy Acc") == 3  # dollars, half of the cases, 90 % of them
    assert drawn.count('class="front"') == 6  # A and B in each of the three


def test_the_page_has_the_choice_and_no_script_but_ours(three, tmp_path):
    made = page(compare(three, tmp_path, TASKS))
    scripts = re.findall(r"<script([^>]*)>", made)
    assert scripts == [' type="image/svg+xml" id="picture"', ""]
    assert "<big>" not in made
    assert json.dumps("A: &lt;big&gt;")[1:-1] in made


@pytest.mark.parametrize(
    ("values", "from_zero", "ticks"),
    [
        ([41.0, 88.0], False, [40, 50, 60, 70, 80, 90]),
        ([0.002, 0.0067], True, [0, 0.002, 0.004, 0.006, 0.008]),
        ([0.001, 0.5, None], True, [0.001, 0.01, 0.1, 1]),  # more than thirty times: logarithmic
        ([5.0, 5.0], False, [5, 6]),
        ([0.0, 0.0], True, [0, 0.2]),
        ([-0.2, -0.1], True, [-0.2, -0.15, -0.1, -0.05, 0]),  # no time is negative, but a stranger's record may say so
    ],
)
def test_a_scale_has_round_ticks_around_all_values(values, from_zero, ticks):
    scale = Scale.of(values, 0, 100, from_zero=from_zero)
    assert scale.ticks == pytest.approx(ticks)
    assert all(0 <= scale.place(value) <= 100 for value in values if value is not None)
