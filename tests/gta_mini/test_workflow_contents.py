"""The bundled workflow data set: its shape, its variety, and that its requirements and conditions are usable."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from bench_gta.tools import WORKFLOW_CATEGORY_OF
from bench_gta.workflow import data, rules, tree
from bench_gta.workflow.data import CATEGORIES_OF_TASKS
from tests.every import every
from tool_impls.registry import GTA_ATOMIC, GTA_WORKFLOW, TOOLS
from tool_impls.settings import ToolSettings

MINI = Path(__file__).parents[2] / "bench_gta" / "workflow" / "mini"
TASKS: dict[str, dict[str, Any]] = json.loads((MINI / "end.json").read_text(encoding="utf-8"))
TOOLMETA: dict[str, dict[str, Any]] = json.loads((MINI / "toolmeta.json").read_text(encoding="utf-8"))
LEAVES = {
    f"{key}-{leaf.id}": (leaf.raw["requirements"], leaf.raw["check"])
    for key, task in TASKS.items()
    for leaf in tree.leaves(tree.parse(task["sub_tasks"]))
}


def calls(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn["tool_calls"][0]["function"] for turn in task["dialogs"] if "tool_calls" in turn]


def test_the_loader_finds_nothing_wrong_or_strange() -> None:
    assert [row.id for row in data.index(MINI).rows] == list(TASKS)
    assert data.strange(MINI) == []


def test_there_are_sixteen_tasks_over_all_six_categories() -> None:
    counted = Counter(task["workflow_category_6class"] for task in TASKS.values())
    assert counted.keys() == CATEGORIES_OF_TASKS.keys() and counted.total() == 16 and min(counted.values()) >= 2


def test_every_kind_of_file_is_attached_somewhere() -> None:
    attached = {used["type"] for task in TASKS.values() for used in task["files"]}
    assert attached >= {"jpg", "wav", "mp4", "pdf", "csv", "xlsx"}


def test_every_attached_file_is_there_and_used() -> None:
    named = {used["path"] for task in TASKS.values() for used in task["files"]}
    assert named == {f"files/{path.name}" for path in (MINI / "files").iterdir()}


@every("key", TASKS)
def test_the_request_names_every_attached_file(key: str) -> None:
    task = TASKS[key]
    assert all(used["path"] in task["dialogs"][0]["content"] for used in task["files"])
    assert task["dialogs"][0]["resources"] == task["files"]


def test_deliverables_are_of_every_kind() -> None:
    makers = {call["name"] for task in TASKS.values() for call in calls(task)}
    documents = {f"{kind}FileGenerator" for kind in ("Pdf", "Docx", "Pptx", "Xlsx", "Csv", "Html")}
    assert makers >= documents | {
        "AddText",
        "DrawBox",
        "Plot",
        "AudioClipTool",
        "VideoClip",
        "AddTextVideoTool",
        "TextToVideoTool",
    }
    texts = [
        key
        for key, task in TASKS.items()
        if all(call["name"] in ("GoogleSearch", "Calculator", "ReadPDF") for call in calls(task))
    ]
    assert len(texts) == 2  # a short text, and JSON


def test_there_are_trees_from_three_to_fifteen_leaves_some_of_them_deep() -> None:
    counted = [len(tree.leaves(tree.parse(task["sub_tasks"]))) for task in TASKS.values()]
    assert (min(counted), max(counted), sum(counted)) == (3, 15, 104)
    weights = {node["weight"] for task in TASKS.values() for node in nodes(task["sub_tasks"])}
    assert len(weights) >= 8
    assert max(id_.count(".") for id_ in (key.partition("-")[2] for key in LEAVES)) == 2


def nodes(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [found for node in listed for found in (node, *nodes(node.get("sub_tasks", [])))]


def test_one_task_has_two_user_turns() -> None:
    turns = Counter(sum(turn["role"] == "user" for turn in task["dialogs"]) for task in TASKS.values())
    assert turns == {1: 15, 2: 1}


def test_the_tools_of_a_task_are_those_of_its_reference_steps() -> None:
    for task in TASKS.values():
        assert set(task["tools"]) == {call["name"] for call in calls(task)}
    assert {WORKFLOW_CATEGORY_OF[name] for task in TASKS.values() for name in task["tools"]} == {
        "perception",
        "operation",
        "logic",
        "creativity",
    }


def test_no_user_turn_needs_more_than_the_ten_replies_that_there_are() -> None:
    for task in TASKS.values():
        replies = 0
        for turn in task["dialogs"]:
            replies = 0 if turn["role"] == "user" else replies + (turn["role"] == "assistant")
            assert replies <= 10


def test_the_tools_are_the_37_of_the_benchmark_with_the_inputs_that_are_offered() -> None:
    names = {kind.meta.name for kind in (*GTA_ATOMIC, *GTA_WORKFLOW)} - {"TextToBbox"}
    assert len(names) == 37 and set(TOOLMETA) == names
    settings = ToolSettings()
    assert {name: TOOLS[name].offered(settings).to_json() for name in names} == TOOLMETA


@every("key", LEAVES)
def test_a_leaf_has_a_sentence_and_conditions_that_nothing_does_not_meet(key: str) -> None:
    requirement, check = LEAVES[key]
    assert re.fullmatch(r"[A-Z0-9a-z].{15,}\.", requirement)
    rules.validate(check)
    assert rules.judge(check, answer="", files=())[0] < 10


def test_requirements_are_all_different_within_a_task() -> None:
    for key in TASKS:
        sentences = [requirement for place, (requirement, _) in LEAVES.items() if place.startswith(f"{key}-")]
        assert len(sentences) == len(set(sentences))


def test_all_files_together_stay_below_two_megabytes() -> None:
    assert sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file()) < 2_000_000
