"""``agentgauge compare`` in all its forms, its conclusion, and the options of the commands that report."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.comparison.pictures import forest
from agentgauge_reports.comparison.shown import conclusion

from agentgauge.cli.main import main
from agentgauge.run.report_form import ReportForm
from tests.reports.runs import OCR, PLANS, record, write_run, written

EIGHT = {f"s{number}": [False] for number in range(8)}
BETTER = {sample: [True] for sample in EIGHT}


def compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str, folders: tuple[str, ...] = ("a", "b")
) -> str:
    """What is printed for runs in these folders."""
    assert main(["compare", *(str(tmp_path / name) for name in folders), *arguments]) == 0
    return capsys.readouterr().out


def data(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, folders: tuple[str, ...] = ("a", "b")) -> Any:
    return json.loads(compared(tmp_path, capsys, "--format", "json", folders=folders))


def test_figures_stand_side_by_side_without_a_word_where_only_the_model_differs(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: EIGHT})
    written(tmp_path / "b", {PLANS: BETTER}, ("run/model", "m2"))
    out = compared(tmp_path, capsys)
    table = [line.split() for line in out.splitlines()]
    # t of 9 degrees of freedom is 2.262: 80 ± 2.262 * 20, and 3.104 * 20 + 12.5 to detect
    # eight of eight: p is 2 / 2**8; the task's accuracy and Passed are one test, and format errors cannot come out
    assert ["Accuracy", "0.00", "100.00", "+100.00", "+34.8", "to", "+100.0", "0.008*", "74.6"] in table
    assert ["Format", "Errors", "0.00", "0.00", "+0.00", "-33.7", "to", "+33.7", "1.000", "58.8"] in table
    assert not any(row[:1] == ["Passed"] for row in table), "it says what Accuracy says"
    assert f"{PLANS}: 8 common samples\n" in out
    assert "8 passed in B, not in A: s0, s1, s2, s3, s4, s5, s6, s7\n" in out
    assert "(m2)" in out and "warning" not in out


def test_published_figures_on_too_few_samples_are_shown_and_of_a_few_tests_their_names(tmp_path, capsys):
    for name, outcome in (("a", False), ("b", True)):
        written(
            tmp_path / name, {"wild": {f"s{number}": [outcome] for number in range(3)}, "tests": {"x.py::y": [outcome]}}
        )
    out = compared(tmp_path, capsys)
    table = [line.split() for line in out.splitlines()]
    found = [row[2:4] + row[-3:] for row in table if row[:2] == ["Coreferential", "Reference"]]
    assert found == [["0.00", "100.00", "too", "few", "-"]], out
    assert not any(row[:1] in (["Passed"], ["Clarify"]) for row in table), "one has nothing more to say, one no value"
    assert "tests: 1 common sample\n  1 passed in B, not in A: x.py::y\n" in out


def test_what_one_run_did_not_finish_is_left_out_of_both_and_counted(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: {"1": [True], "2": ["broken"], "3": [True], "4": [None], "5": [True], "6": [True]}})
    written(
        tmp_path / "b", {PLANS: {"1": [True], "2": [True], "3": ["broken"], "4": [True], "5": [False], "7": [True]}}
    )
    task = data(tmp_path, capsys)["comparisons"][0]["tasks"][PLANS]
    assert task["common"] == 2
    assert task["left_out"] == {"broken in A": 1, "missing in A": 1, "only in A": 1, "broken in B": 1, "only in B": 1}
    assert (task["figures"]["Passed"]["a"], task["figures"]["Passed"]["b"]) == (100.0, 50.0)
    assert [one["sample"] for one in task["lost"]] == ["5"] and task["gained"] == []


def test_attempts_are_averaged_and_a_broken_one_leaves_the_others(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: {"1": [True, False], "2": [False, False], "3": [True, True]}})
    written(tmp_path / "b", {PLANS: {"1": [True, True], "2": [False, "broken"], "3": [True, False]}})
    task = data(tmp_path, capsys)["comparisons"][0]["tasks"][PLANS]
    assert (task["common"], task["left_out"]) == (3, {})
    assert task["figures"]["Accuracy"]["a"] == task["figures"]["Accuracy"]["b"] == 50.0
    assert ([one["sample"] for one in task["gained"]], [one["sample"] for one in task["lost"]]) == (["1"], ["3"])


MIXED = {f"s{number}": [number < 4] for number in range(8)}


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            {"s0": ["broken"]},
            {"s0": ["broken"]},
            "Nothing could be tested: too few samples are common, or all have the same outcome.",
        ),
        (MIXED, MIXED, "p is 1 throughout: on no figure do enough samples differ for a significant result."),
        (MIXED, {**MIXED, "s0": [False]}, "on no figure do enough samples differ for a significant result."),
        (EIGHT, BETTER, "p is of the one test shown here. *: p ≤ 0.05"),
    ],
    ids=["none", "equal", "one differs", "one"],
)
def test_the_note_has_the_number_of_tests(tmp_path, capsys, a, b, words):
    written(tmp_path / "a", {PLANS: a})
    written(tmp_path / "b", {PLANS: b}, ("run/model", "m2"))
    out = " ".join(compared(tmp_path, capsys).split())
    assert out.endswith(words) and "all 0" not in out


def test_several_runs_are_each_compared_with_the_first_and_corrected_together(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: EIGHT})
    written(tmp_path / "b", {PLANS: BETTER})
    written(tmp_path / "c", {PLANS: BETTER})
    found = data(tmp_path, capsys, folders=("a", "b", "c"))
    assert [(one["run"], one["against"]) for one in found["comparisons"]] == [("B", "A"), ("C", "A")]
    assert found["tests"] == 2
    assert [one["tasks"][PLANS]["figures"]["Passed"]["p_holm"] for one in found["comparisons"]] == [2 * 2 / 2**8] * 2
    assert "C - A" in compared(tmp_path, capsys, folders=("a", "b", "c"))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (
            "settings/tools/OCR",
            {**OCR, "backend": "EasyOCR"},
            "the tool sets differ: OCR has backend 'RapidOCR' and 'EasyOCR'",
        ),
        ("settings/tools/OCR", {**OCR, "weights": "abc"}, "the tool sets differ: OCR has weights None and 'abc'"),
        (
            "settings/tools/OCR",
            {**OCR, "device": "cuda:1 (NVIDIA L4)"},
            "OCR ran on cpu and on cuda (NVIDIA L4): their results may differ in the last digits",
        ),
        ("settings/tools/Plot", OCR, "the tool sets differ: only one run has Plot"),
        (f"run/data/{PLANS}/fingerprint", "g", f"{PLANS}: the data sets differ"),
        (f"tasks/{PLANS}/planned", 2, f"{PLANS}: one run has 8 cases, the other 2"),
        (f"tasks/{PLANS}/similarity", "mpnet", f"{PLANS}: texts are compared by '' and by 'mpnet'"),
        ("run/scoring", "strict", "scoring differs: 'parity' and 'strict'"),
        ("run/attempts", 3, "attempts differs: 1 and 3"),
        ("run/prompts/dialect", "q", "prompts of dialect differ: '' and 'q'"),
        ("run/options/--wild-language", "zh", "options of --wild-language differ: 'en' and 'zh'"),
    ],
)
def test_whatever_else_differs_is_warned_of(tmp_path, capsys, path, value, told):
    written(tmp_path / "a", {PLANS: EIGHT})
    written(tmp_path / "b", {PLANS: EIGHT}, (path, value))
    assert data(tmp_path, capsys)["comparisons"][0]["warnings"] == [told]
    assert f"warning: {told}"[:70] in compared(tmp_path, capsys)


def test_runs_that_cannot_be_compared_are_refused_in_a_sentence(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: EIGHT})
    written(tmp_path / "b", {"mmau.dag_reasoning": EIGHT})
    for folders, told in (
        (("a", "b"), f"have no task in common; they ran {PLANS} and mmau.dag_reasoning"),
        (("a", ""), "is not a run folder"),
        (("a",), "compare takes 2 to 26 run folders, the first of which the others are compared with; got 1"),
    ):
        assert main(["compare", *(str(tmp_path / name) for name in folders)]) == 4
        assert told in capsys.readouterr().err


def test_flipped_samples_link_to_both_transcripts_from_where_the_comparison_lies(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: {"x/1 ä": [False], "y": [True]}})
    written(tmp_path / "b b", {PLANS: {"x/1 ä": [True], "y": [True]}})
    (tmp_path / "out").mkdir()
    where = f"report.html#case={PLANS}/x%2F1%20%C3%A4/1"
    for form in ("json", "html", "markdown"):
        target = tmp_path / "out" / form
        assert (
            compared(tmp_path, capsys, "--format", form, "--output", str(target), folders=("a", "b b")) == f"{target}\n"
        )
        assert f"../a/{where}" in target.read_text() and f"../b%20b/{where}" in target.read_text()


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: EIGHT})
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "a"), "--output", str(tmp_path / "none" / "file")]) == 4
    assert (
        "cannot be written (No such file or directory); name a file in a folder that exists" in capsys.readouterr().err
    )


def test_names_of_others_are_text_in_every_form(tmp_path, capsys):
    bad = "<script>alert(1)</script>|[x](y)"
    written(tmp_path / "a", {PLANS: {bad: [False]}}, ("run/model", bad))
    written(tmp_path / "b", {PLANS: {bad: [True]}})
    page = compared(tmp_path, capsys, "--format", "html")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page and not re.search(r"""(src|href)=["']?(https?:|//)""", page)
    markdown = compared(tmp_path, capsys, "--format", "markdown")
    assert "\\<script\\>" in markdown and not re.search(r"(?<!\\)<script", markdown)
    assert "\\|\\[x\\](y)" in markdown


def test_texts_fit_into_eighty_columns(tmp_path, capsys):
    many = {f"a-long-name-of-a-sample-{number:03}": [bool(number % 3)] for number in range(40)}
    few = {sample: [not outcome[0]] for sample, outcome in many.items()}
    written(tmp_path / "a", {PLANS: many, "wild": many})
    written(
        tmp_path / "b",
        {PLANS: few, "wild": few},
        (f"run/data/{PLANS}/fingerprint", "a fingerprint"),
        ("run/dialect", "long " * 20),
    )
    lines = compared(tmp_path, capsys).splitlines()
    assert max(len(line) for line in lines if not line.startswith(("A: ", "B: "))) <= 80
    assert any("and 6 more" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


# -- the conclusion and the plot


def figure(difference=0.0, *, sure=False, seen=None, published=True, tested=True):
    return {
        "a": 50.0,
        "b": 50.0 + difference,
        "count": False,
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
        ([UP], "B is better than A on 1 of 1 figure."),
        (
            [UP, UP, SIX, SEVEN],
            "B is better than A on 2 of 4 figures; on the other 2, differences of less than 6.0 to 7.2"
            " points, depending on the figure, could have gone unseen.",
        ),
        (
            [UP, DOWN, SIX],
            "B is better than A on 1 of 3 figures and worse on 1; on the other one, a difference of less than"
            " 6.0 points could have gone unseen.",
        ),
        (
            [DOWN, NEVER],
            "B is worse than A on 1 of 2 figures; on the other one, the runs are too small to show any difference.",
        ),
        (
            [SIX, SIX],
            "No significant difference between B and A on 2 figures; a difference of less than 6.0 points"
            " could have gone unseen.",
        ),
        (
            [UP, *[NEVER] * 9, SIX],
            "B is better than A on 1 of 11 figures; on the other 10, a difference of less than 6.0 points"
            " could have gone unseen; 9 figures rest on too few samples to show any.",
        ),
        (
            [NEVER, SIX, SEVEN],
            "No significant difference between B and A on 3 figures; differences of less than 6.0 to 7.2"
            " points, depending on the figure, could have gone unseen; 1 figure rests on too few samples to show any.",
        ),
        (
            [figure(sure=True, published=False), figure(tested=False)],
            "B and A have no figure that can be tested.",
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
    assert drawn.count('class="sure"') == 1 and "&lt;b&gt;" in drawn and "own" not in drawn
    assert "+9.0 (+5.0 to +13.0)" in drawn


def test_without_a_figure_to_draw_there_is_no_plot():
    assert forest({"run": "B", "against": "A", "tasks": {"t": {"figures": {"own": figure(published=False)}}}}) == ""


@pytest.fixture
def two_forms(tmp_path, capsys):
    """Nine samples that only B passes, one that A passes always and B in one of two attempts."""
    nine = {f"s{number}": [False, False] for number in range(9)}
    written(tmp_path / "a", {PLANS: {**nine, "x/ä": [True, True]}})
    written(tmp_path / "b", {PLANS: {**{sample: [True, True] for sample in nine}, "x/ä": [True, False]}})

    def made(form):
        assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", form]) == 0
        return capsys.readouterr().out

    return made


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_sentence_stands_at_the_top_of_every_form(two_forms, form):
    told = " ".join(two_forms(form).split())
    assert told.index("B is better than A on 1 of 1 figure.") < told.index("Accuracy")


def test_every_case_has_a_row_with_its_outcomes_and_links_that_can_be_linked_to(two_forms):
    page = two_forms("html")
    rows = re.findall(
        r'<tr id="([^"]+)" data-ends="([^"]+)"><th scope="row"><a data-sides href="#([^"]+)">[^<]*</a></th>(.*?)</tr>',
        page,
    )
    outcomes = {name: (ends, re.findall(r">([^<>]+)</a>", cells)) for name, ends, _, cells in rows}
    assert outcomes[f"{PLANS}/s0"] == ("wp", ["wrong", "passed"])
    assert outcomes[f"{PLANS}/x/ä"] == ("p1", ["passed", "1 of 2 passed"])
    assert f"{PLANS}/x/%C3%A4" in [link for _, _, link, _ in rows]


# -- options

FINISHED = Path(__file__).parents[1] / "run_folders" / "2026-11" / "wild-mmau"
RUN = {PLANS: {"1": [True], "2": [False]}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("report", "--items"), "report names no run; give its folder, such as runs/mine"),
        (("report", "a", "b", "--table", "md"), "report takes one run and got 2; only --items takes several"),
        (("report", "a", "--format", "wild"), "--format wild needs a folder to write to; give --output DIR"),
        pytest.param(
            ("report", "a", "--items", "--embed"),
            "--embed goes with --html only; give both, or neither",
            marks=pytest.mark.uses("page"),
        ),
        (("report", "a", "--table", "md", "--json"), "--json goes with --items only; give both, or neither"),
        (("report", "a", "--table", "md", "--output", "b"), "--output goes with --format only; give both, or neither"),
        (("report", "a", "--table", "md", "--data", "b"), "--data goes with --format only; give both, or neither"),
        (("report", "none", "--table", "md"), "none is not a run folder"),
        (("merge", "out", "a"), "merge needs two runs or more and got 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_a_sentence(tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a", RUN)
    assert main(arguments) == 4
    told = capsys.readouterr().err
    assert says in told and told.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "a", "b"),
        ("merge", "c", "a", "b"),
        ("report", "a", "--table", "md"),
        pytest.param(("report", "a", "--html"), marks=pytest.mark.uses("page")),
        pytest.param(("report", "a", "--allure"), marks=pytest.mark.uses("allure")),
        pytest.param(("report", "a", "--format", "atif", "--output", "c"), marks=pytest.mark.uses("formats")),
    ],
)
def test_a_run_of_a_task_in_a_file_names_the_file_that_is_not_imported_unasked(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    Path("x.py").write_text("raise SystemExit('imported')")
    for name in ("a", "b"):
        write_run(Path(name), [record(0)])
    assert main(words) == 4
    told = capsys.readouterr().err
    assert told.startswith('agentgauge: a has the task "toy.say", which') and told.count("\n") == 1
    assert "agentgauge --tasks x.py COMMAND" in told
    with pytest.raises(SystemExit, match="imported"):
        main(("--tasks", "x.py", *words))


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("a", "--html"), "a/report.html"),
        (("--html", "a"), "a/report.html"),
        (("a", "--html", "page.html"), "page.html"),
    ],
)
@pytest.mark.uses("page")
def test_the_page_goes_where_it_is_asked_for_and_into_the_run_by_itself(
    tmp_path, monkeypatch, capsys, arguments, place
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FINISHED, "a")
    assert main(["report", *arguments, "--embed"]) == 0
    assert capsys.readouterr().out == f"{place}\n"
    assert "<html" in Path(place).read_text("utf-8")


def test_a_plugin_may_have_a_form_of_its_own_with_switches(tmp_path, monkeypatch, capsys):
    def write(run, place, *, tasks, omitted, small_print):
        return f"{run} {place} {small_print}"

    form = ReportForm("--slides", "FILE", "slides", "slides.html", write, {"--small-print": "in small print"})
    monkeypatch.setattr("agentgauge.cli.report.announced", lambda kind: [(None, form)])
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a", RUN)
    assert main(["report", "a", "--slides"]) == 0
    assert main(["report", "--small-print", "--slides", "b.html", "a"]) == 0
    assert capsys.readouterr().out == "a a/slides.html False\na b.html True\n"
    assert main(["report", "a", "--items", "--small-print"]) == 4
    assert "--small-print goes with --slides only; give both, or neither" in capsys.readouterr().err
