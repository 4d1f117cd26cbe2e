"""GTA-Workflow's bundled data: its shape, its variety, and what its requirements accept.

tests/plugin/test_workflow.py solves the tasks by the oracle with real tools.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench_gta.tools import WORKFLOW_CATEGORY_OF
from bench_gta.workflow import data, rules, tree
from bench_gta.workflow.data import CATEGORIES_OF_TASKS
from bench_gta.workflow.facts import Facts
from bench_gta.workflow.oracle import with_paths
from tests.every import every
from tool_impls.registry import GTA_ATOMIC, GTA_WORKFLOW, TOOLS
from tool_impls.settings import ToolSettings

MINI = Path(__file__).parents[2] / "bench_gta" / "workflow" / "mini"
TASKS: dict[str, dict[str, Any]] = json.loads((MINI / "end.json").read_text(encoding="utf-8"))
TOOLMETA: dict[str, dict[str, Any]] = json.loads((MINI / "toolmeta.json").read_text(encoding="utf-8"))
LEAVES = {
    f"{key}/{leaf.id}": (leaf.raw["requirements"], leaf.raw["check"])
    for key, task in TASKS.items()
    for leaf in tree.leaves(tree.parse(task["sub_tasks"]))
}


def calls(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn["tool_calls"][0]["function"] for turn in task["dialogs"] if "tool_calls" in turn]


def test_the_loader_finds_nothing_wrong_or_strange() -> None:
    assert [row.id for row in data.index(MINI).rows] == list(TASKS)
    assert data.strange(MINI) == []


def test_categories_turns_and_trees() -> None:
    categories = Counter(task["workflow_category_6class"] for task in TASKS.values())
    assert (
        categories.keys() == CATEGORIES_OF_TASKS.keys() and categories.total() == 16 and min(categories.values()) >= 2
    )
    turns = Counter(sum(turn["role"] == "user" for turn in task["dialogs"]) for task in TASKS.values())
    assert turns == {1: 15, 2: 1}
    leaves = Counter(place.partition("/")[0] for place in LEAVES)
    assert (min(leaves.values()), max(leaves.values()), leaves.total()) == (3, 15, 104)
    assert max(place.count(".") for place in LEAVES) == 2


def test_files_of_every_kind_are_attached_and_delivered() -> None:
    attached = {used["path"] for task in TASKS.values() for used in task["files"]}
    assert attached == {f"files/{path.name}" for path in (MINI / "files").iterdir()}
    assert {Path(path).suffix for path in attached} >= {".jpg", ".wav", ".mp4", ".pdf", ".csv", ".xlsx"}
    used = {call["name"] for task in TASKS.values() for call in calls(task)}
    assert used >= {f"{kind}FileGenerator" for kind in ("Pdf", "Docx", "Pptx", "Xlsx", "Csv", "Html")}
    assert used >= {"AddText", "DrawBox", "Plot", "AudioClipTool", "VideoClip", "AddTextVideoTool", "TextToVideoTool"}
    assert {WORKFLOW_CATEGORY_OF[name] for name in used} == {"perception", "operation", "logic", "creativity"}
    assert sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file()) < 2_000_000


@every("key", TASKS)
def test_a_task_holds_together(key: str) -> None:
    task = TASKS[key]
    assert all(used["path"] in task["dialogs"][0]["content"] for used in task["files"])
    assert task["dialogs"][0]["resources"] == task["files"]
    assert set(task["tools"]) == {call["name"] for call in calls(task)}
    replies = 0
    for turn in task["dialogs"]:
        replies = 0 if turn["role"] == "user" else replies + (turn["role"] == "assistant")
        assert replies <= 10  # a user turn has ten replies at most


def test_the_tools_are_the_37_of_the_benchmark_with_the_inputs_that_are_offered() -> None:
    names = {kind.meta.name for kind in (*GTA_ATOMIC, *GTA_WORKFLOW)} - {"TextToBbox"}
    assert len(names) == 37
    assert {name: TOOLS[name].offered(ToolSettings()).to_json() for name in names} == TOOLMETA


@every("place", LEAVES)
def test_a_leaf_has_a_sentence_and_conditions_that_nothing_does_not_meet(place: str) -> None:
    requirement, check = LEAVES[place]
    assert re.fullmatch(r"[A-Z0-9a-z].{15,}\.", requirement)
    rules.validate(check)
    assert rules.judge(check, answer="", files=())[0] < 10


HOURS = "09:00: 12 came\n10:00: 19 came\n11:00: 27 came\n12:00: 8 came\n"
FIRM = Facts("helmets_memo.docx", "Word document", 9, text="Decision: we order from Velo Nord.")


@every(
    ("place", "answer", "met"),
    [
        ("0/1.1", "Chain and cassette pays best (52 EUR per hour).", True),
        ("0/1.1", "Brake service pays best with 52, before chain and cassette.", False),
        ("2/1", "Take Velo Nord, not Alpenrad: 936 instead of 1,053 EUR.", True),
        ("2/1", "Take Alpenrad, not Velo Nord.", False),
        ("4/2", "That takes 6.7 bars.", True),
        ("4/2", "It takes 12.7 bars.", False),
        ("4/3", "The source, 'Energy used by cycling', gives 560 kcal an hour.", True),
        ("4/3", "I made it up: 560 kcal an hour, from me.", False),
        ("10/2", "The busiest hour, from 10:00 to 11:00, had 27 visitors.", True),
        ("10/2", f"{HOURS}Most came between 13:00 and 14:00, then 10:00 to 11:00.", False),
        ("14/5", "The newsletter is cheapest with 1.50 EUR. Stop the radio spot.", True),
        ("14/5", "The newsletter is cheapest with 1.50 EUR. Do not stop the radio spot.", False),
    ],
)
def test_an_answer_meets_a_requirement_by_what_it_says(place: str, answer: str, met: bool) -> None:
    score, analysis = rules.judge(LEAVES[place][1], answer=answer, files=[FIRM])
    assert (score == 10) is met, analysis


@every(
    ("place", "file", "met"),
    [
        ("14/4.2", Facts("campaigns.pptx", "presentation", 9, text="Radio spot: stop it"), True),
        ("14/4.2", Facts("campaigns.pptx", "presentation", 9, text="We do not stop the radio spot"), False),
        ("12/5", Facts("a.html", "HTML page", 9, {"links": 1}, links=("mailto:hello@leaf-and-kettle.example",)), True),
        ("12/5", Facts("a.html", "HTML page", 9, {"links": 1}, links=("https://elsewhere.example",)), False),
        ("13/1", Facts("tea_week.png", "picture", 9, {"width": 720, "height": 540}, look="80" * 64), False),
    ],
)
def test_a_file_meets_a_requirement_by_what_is_in_it(place: str, file: Facts, met: bool) -> None:
    score, analysis = rules.judge(LEAVES[place][1], answer="", files=[file])
    assert (score == 10) is met, analysis


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ("output/a.png, output/b.png", "/run/a.png, /run/b-2.png"),
        ("![x](output/a.png) and ![y](output/b.png).", "![x](/run/a.png) and ![y](/run/b-2.png)."),
        ("my-output/a.png/x output/a.pngs", "my-output/a.png/x output/a.pngs"),
        (7, 7),
    ],
)
def test_the_oracle_replaces_paths_that_stand_as_a_whole(value: object, replaced: object) -> None:
    assert with_paths(value, {"output/a.png": "/run/a.png", "output/b.png": "/run/b-2.png"}) == replaced
