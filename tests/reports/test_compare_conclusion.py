"""What a comparison comes to: its sentence, its forest plot, its flipped cases."""

from __future__ import annotations

import re

import pytest
from agentgauge_reports.comparison.shown import conclusion, forest

from agentgauge.cli.main import main
from tests.reports.runs import PLANS, written


def figure(difference=0.0, *, sure=False, seen=None, published=True, tested=True):
    return {
        "published": published,
        "p_holm": 0.01 if tested else None,
        "significant": sure,
        "difference": difference,
        "low": difference - 4,
        "high": difference + 4,
        "detectable": seen,
    }


UP, DOWN = figure(9.0, sure=True), figure(-9.0, sure=True)
SIX, SEVEN, NEVER = figure(seen=6.04), figure(seen=7.25), figure(seen=None)


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ([UP], "B is better than A on 1 of 1 published figure."),
        (
            [UP, UP, SIX, SEVEN],
            "B is better than A on 2 of 4 published figures; on the other 2, differences of less than 6.0 to 7.2"
            " points, depending on the figure, could have gone unseen.",
        ),
        (
            [UP, DOWN, SIX],
            "B is better than A on 1 of 3 published figures and worse on 1; on the other one, a difference of less than"
            " 6.0 points could have gone unseen.",
        ),
        (
            [DOWN, NEVER],
            "B is worse than A on 1 of 2 published figures; on the other one, the runs are too small to show any"
            " difference.",
        ),
        (
            [SIX, SIX],
            "No significant difference between B and A on 2 published figures; a difference of less than 6.0 points"
            " could have gone unseen.",
        ),
        (
            [UP, *[NEVER] * 9, SIX],
            "B is better than A on 1 of 11 published figures; on the other 10, a difference of less than 6.0 points"
            " could have gone unseen; 9 figures rest on too few samples to show any.",
        ),
        (
            [NEVER, SIX, SEVEN],
            "No significant difference between B and A on 3 published figures; differences of less than 6.0 to 7.2"
            " points, depending on the figure, could have gone unseen; 1 figure rests on too few samples to show any.",
        ),
        (
            [figure(sure=True, published=False), figure(tested=False)],
            "B and A have no published figure that can be tested.",
        ),
    ],
)
def test_a_sentence_says_who_is_better_and_what_could_not_be_seen(figures, says):
    tasks = {"t": {"figures": dict(enumerate(figures))}}
    assert conclusion("B", tasks, warned=False) == says
    assert conclusion("B", tasks, warned=True) == f"{says} The runs differ in more than the model: read the warnings."


def test_the_plot_has_a_line_for_each_published_figure_and_marks_the_sure_ones():
    figures = {"<b>": UP, "Q": SIX, "own": figure(published=False)}
    drawn = forest({"run": "B", "against": "A", "tasks": {"t": {"figures": figures}}})
    # the ends of the intervals reach to 13 of 15 points: 470 ± 220 for 0 ± 15
    assert re.findall(r'class="interval" x1="([\d.]+)" x2="([\d.]+)"', drawn) == [
        ("543.3", "660.7"),
        ("411.3", "528.7"),
    ]
    assert re.findall(r'class="scale"[^>]*>([^<]+)<', drawn) == ["-15", "-10", "-5", "0", "+5", "+10", "+15"]
    assert drawn.count("class=sure") == 1 and "&lt;b&gt;" in drawn and "own" not in drawn
    assert "+9.0 (+5.0 to +13.0)" in drawn


def test_without_a_figure_to_draw_there_is_no_plot():
    assert forest({"run": "B", "against": "A", "tasks": {"t": {"figures": {"own": figure(published=False)}}}}) == ""


@pytest.fixture
def comparison(tmp_path, capsys):
    """Nine samples that only B passes, one that A passes always and B in one of two attempts."""
    nine = {f"s{number}": [False, False] for number in range(9)}
    written(tmp_path / "a", {PLANS: {**nine, "x/ä": [True, True]}})
    written(tmp_path / "b", {PLANS: {**{sample: [True, True] for sample in nine}, "x/ä": [True, False]}})

    def made(form):
        assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", form]) == 0
        return capsys.readouterr().out

    return made


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_sentence_stands_at_the_top_of_every_form(comparison, form):
    told = " ".join(comparison(form).split())
    assert told.index("B is better than A on 1 of 1 published figure.") < told.index("Accuracy")


def test_a_flipped_case_shows_both_outcomes_side_by_side_and_can_be_linked_to(comparison):
    page = comparison("html")
    rows = re.findall(r'<tr id="([^"]+)"><th scope="row"><a href="#([^"]+)">[^<]*</a></th>(.*?)</tr>', page)
    outcomes = {name: re.findall(r">([^<>]+)</a>", cells) for name, _, cells in rows}
    assert outcomes[f"B/{PLANS}/s0"] == ["not passed", "passed"]
    assert outcomes[f"B/{PLANS}/x/ä"] == ["passed", "50 % passed"]
    assert f"B/{PLANS}/x/%C3%A4" in [link for _, link, _ in rows]
