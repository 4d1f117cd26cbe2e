"""Copies are found, edited ones too, and unrelated sessions are not."""

from __future__ import annotations

import json
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_wild.data import LANGUAGES, load_sessions
from bench_wild.generate.evaluation.overlap import ENOUGH, SESSION, TASK, grams, known_sessions, overlaps, texts_of

MINI = Path(__file__).parents[3] / "bench_wild" / "mini"
RECORDS: list[dict[str, Any]] = [
    json.loads(line) for line in (MINI / "Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()
]
KNOWN = known_sessions([MINI])

in_each_language = pytest.mark.parametrize("language", LANGUAGES)


def spoken(record: dict[str, Any], language: str) -> dict[str, Any]:
    """A record in one language."""
    return {
        name: value
        for name, value in record.items()
        if name.startswith("english_") == (language == "en") or name == "id"
    }


def edited(record: dict[str, Any], language: str, every: int) -> dict[str, Any]:
    """The user's texts with one word or sign in ``every`` replaced."""
    twin, new, blank = ("english_", "blue", " ") if language == "en" else ("", "蓝", "")
    copy: dict[str, Any] = json.loads(json.dumps(spoken(record, language)))

    def edit(text: str) -> str:
        units = text.split() if language == "en" else list(text)
        return blank.join(new if place % every == every // 2 else unit for place, unit in enumerate(units))

    copy[f"{twin}tasks"] = [edit(text) for text in copy[f"{twin}tasks"]]
    for nodes in copy[f"{twin}answer_list"]:
        for node in nodes:
            if "user_input" in node:
                node["user_input"] = edit(node["user_input"])
    return copy


@in_each_language
def test_unrelated_sessions_stay_far_below_the_thresholds(language):
    texts = [
        [grams(text, language) for text in texts_of(one)]
        for one in load_sessions(MINI / "Wild-Tool-Bench.jsonl", language)
    ]
    wholes = [frozenset().union(*mine) for mine in texts]
    pairs = list(permutations(range(len(texts)), 2))
    sessions = max(len(wholes[mine] & wholes[other]) / len(wholes[mine]) for mine, other in pairs)
    tasks = max(
        len(text & wholes[other]) / len(text) for mine, other in pairs for text in texts[mine] if len(text) >= ENOUGH
    )
    assert 0 < sessions < SESSION / 4
    assert 0 < tasks < TASK / 4


@in_each_language
def test_unrelated_sessions_are_not_reported(language, tmp_path):
    lines = [json.dumps(record) for record in RECORDS]
    (tmp_path / "even.jsonl").write_text("\n".join(lines[::2]))
    known = known_sessions([tmp_path / "even.jsonl"])
    assert [found for record in RECORDS[1::2] for found in overlaps(spoken(record, language), known)] == []


@in_each_language
@pytest.mark.parametrize("record", RECORDS, ids=lambda one: one["id"])
def test_a_copy_is_found_and_so_is_an_edited_one(record, language):
    whole = overlaps(spoken(record, language), KNOWN)
    assert [(found.task, found.share, found.other) for found in whole] == [(None, 1.0, record["id"])]
    shares = [found[0].share for every in (20, 10) if (found := overlaps(edited(record, language, every), KNOWN))]
    assert len(shares) == 2
    assert all(1 > more > less for more, less in pairwise(shares))


@in_each_language
def test_a_single_copied_task_is_found(language, tmp_path):
    twin = "english_" if language == "en" else ""
    record = spoken(json.loads(json.dumps(RECORDS[0])), language)
    record[f"{twin}tasks"][2] = sorted(RECORDS[5][f"{twin}tasks"], key=lambda text: len(grams(text, language)))[1]
    (tmp_path / "known.jsonl").write_text("\n".join(json.dumps(one) for one in RECORDS[1:]))
    found = overlaps(record, known_sessions([tmp_path / "known.jsonl"]))
    assert [(one.task, one.other, str(one)[:12]) for one in found] == [(2, RECORDS[5]["id"], "task 3 share")]


def test_short_words_are_no_copy(tmp_path):
    record = {**RECORDS[0], "english_tasks": list(RECORDS[0]["english_tasks"])}
    record["english_tasks"][1] = "And the other one?"
    (tmp_path / "known.jsonl").write_text(
        json.dumps({**RECORDS[1], "english_tasks": ["And the other one?", "b", "c", "d"]})
    )
    assert overlaps(record, known_sessions([tmp_path / "known.jsonl"])) == []


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Open it, now!", "en", {("open", "it", "now")}),
        ("OPEN it now", "en", {("open", "it", "now")}),
        ("Open it", "en", set()),
        ("打开,第一个", "zh", {("打", "开", "第", "一"), ("开", "第", "一", "个")}),
        ("", "zh", set()),
    ],
)
def test_grams(text, language, expected):
    assert grams(text, language) == expected


def test_a_folder_without_data_is_refused(tmp_path):
    with pytest.raises(DataProblem, match="holds no data file of WildToolBench to compare with"):
        known_sessions([tmp_path])
