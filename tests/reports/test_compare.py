"""Runs side by side: what is common, what differs, and how it is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from tests.reports.runs import OCR, PLANS, written

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
    assert ["Passed", "0.00", "100.00", "+100.00", "+34.8", "to", "+100.0", "0.008*", "74.6"] in table
    assert f"{PLANS}: 8 common samples\n" in out
    assert "8 passed in B, not in A: s0, s1, s2, s3, s4, s5, s6, s7\n" in out
    assert "(m2)" in out and "warning" not in out


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


def test_the_order_in_which_cases_ended_changes_nothing(tmp_path, capsys):
    written(tmp_path / "a", {PLANS: EIGHT})
    there = written(tmp_path / "b", {PLANS: {**BETTER, "s3": [False]}})
    before = compared(tmp_path, capsys, "--format", "json")
    lines = (there / "records.jsonl").read_text().splitlines(keepends=True)
    (there / "records.jsonl").write_text("".join(reversed(lines)))
    assert compared(tmp_path, capsys, "--format", "json") == before


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
    assert "<script" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page
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
