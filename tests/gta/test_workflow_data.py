"""GTA-Workflow's data and its checkpoint trees."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem, Fault
from agentgauge.core.types import ROOT_TOKEN
from bench_gta.tools import CATEGORIES, CATEGORY_OF, WORKFLOW_CATEGORIES, WORKFLOW_CATEGORY_OF
from bench_gta.workflow import data
from bench_gta.workflow.tree import MAX_DEPTH, Value, aggregate, check_weights, leaves, parse

META = {
    "ReadXLSX": {
        "name": "ReadXLSX",
        "description": "Reads.",
        "inputs": [{"type": "file", "name": "file"}],
        "outputs": [{"type": "text"}],
    },
    "Plot": {"description": "Draws.", "inputs": [], "outputs": [{"type": "image"}]},
    "OCR": {"name": "OCR", "description": "Reads pictures.", "inputs": [], "outputs": []},
}
TASK = {
    "workflow_category_6class": "Education & Instruction",
    "tools": ["ReadXLSX", {"name": "Plot"}, "OCR", "OCR"],
    "files": [{"type": "xlsx", "path": "files/7-1.xlsx"}, {"path": "files/a.PNG"}],
    "dialogs": [
        {
            "role": "user",
            "content": "Find the busiest weekday.",
            "resources": [{"type": "xlsx", "path": "files/7-1.xlsx"}, {"type": "image", "path": "files/a.PNG"}],
        },
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "ReadXLSX", "arguments": {"file": "files/7-1.xlsx"}}}],
        },
        {"role": "tool", "name": "ReadXLSX", "content": "Monday", "extra": 1},
        {"role": "assistant", "content": "Monday."},
    ],
    "sub_tasks": [
        {"id": "1", "weight": 2, "requirements": "Monday is named."},
        {"id": "2", "requirements": "A chart exists."},
    ],
}

Write = Callable[..., Path]


@pytest.fixture
def write_tasks(tmp_path: Path) -> Write:
    """Write a data set in the official layout; returns its folder."""
    root = tmp_path / "gta_dataset_v2"

    def writer(tasks: Any, meta: Any = META) -> Path:
        (root / "files").mkdir(parents=True)
        for name in ("7-1.xlsx", "a.PNG"):
            (root / "files" / name).touch()
        (root / data.DATASET).write_text(json.dumps(tasks), encoding="utf-8")
        (root / data.TOOLMETA).write_text(meta if isinstance(meta, str) else json.dumps(meta), encoding="utf-8")
        return root

    return writer


def changed(**fields: Any) -> dict[str, Any]:
    """The task with other fields; None takes one away."""
    task = {**copy.deepcopy(TASK), **fields}
    return {name: value for name, value in task.items() if value is not None}


def test_a_task_has_its_keywords(write_tasks: Write) -> None:
    rows = data.index(
        write_tasks({"7": TASK, "3": changed(tools=None, files=[], workflow_category_6class="Data Analysis")})
    ).rows
    assert [row.id for row in rows] == ["7", "3"]
    own = ("ReadXLSX", "Plot", "OCR", "perception", "operation", "logic")
    assert rows[0].tags == (*own, "education_instruction", "files_xlsx", "files_png", "leaves_2")
    assert rows[1].tags == ("data_analysis", "leaves_2")


def test_a_task_is_loaded_with_absolute_paths(write_tasks: Write) -> None:
    index = data.index(write_tasks({"7": TASK}))
    sample = data.load(index, index.rows[0], "gta_workflow")
    loaded = data.resolve(sample)
    assert loaded.tool_names == ["ReadXLSX", "Plot", "OCR"]
    assert loaded.files == [f"{index.root}/files/7-1.xlsx", f"{index.root}/files/a.PNG"]
    stored = data.resolve(sample, ROOT_TOKEN)
    assert stored.dialogs[1]["tool_calls"][0]["function"]["arguments"] == {"file": "{ROOT}/files/7-1.xlsx"}
    assert stored.dialogs[2] == {"role": "tool", "name": "ReadXLSX", "content": "Monday"}
    assert stored.full_tree == TASK["sub_tasks"]
    assert sample.payload == TASK


def test_resources_stand_in_for_missing_files(write_tasks: Write) -> None:
    index = data.index(write_tasks({"7": changed(files=None)}))
    loaded = data.resolve(data.load(index, index.rows[0], "gta_workflow"), "")
    assert loaded.files == ["/files/7-1.xlsx", "/files/a.PNG"]


def test_a_file_that_is_gone_is_no_fault_of_the_model(write_tasks: Write) -> None:
    index = data.index(write_tasks({"7": TASK}))
    sample = data.load(index, index.rows[0], "gta_workflow")
    data.require_files(sample)
    (index.root / "files/a.PNG").unlink()
    with pytest.raises(Fault, match=r"'files/a\.PNG' is missing below"):
        data.require_files(sample)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("text", "sample '7': must be an object, not str"),
        (changed(dialogs=None), "sample '7', dialogs: must hold a user turn"),
        (changed(dialogs={}), "dialogs: must be a list"),
        (changed(dialogs=[{"role": "assistant", "content": "x"}]), "dialogs: must hold a user turn"),
        (changed(dialogs=[{"role": "bot"}]), r"dialogs\[0\]: must be an object with the role"),
        (changed(dialogs=[{"role": "user", "content": None}]), r"dialogs\[0\].content: must be a string"),
        (
            changed(dialogs=[TASK["dialogs"][0], {"role": "assistant", "tool_calls": ["x"]}]),
            r"dialogs\[1\].tool_calls\[0\]",
        ),  # type: ignore[index]
        (changed(files="files/a.PNG"), "files: must be a list"),
        (changed(files=[{"path": 5}]), r"files\[0\].path: must be a string"),
        (changed(files=[{"path": "/etc/hosts"}]), r"files\[0\].path: '/etc/hosts' must be a path relative"),
        (changed(files=[{"path": "files/../../x"}]), "and below it"),
        (changed(files=[{"path": "files/none.pdf"}]), "'files/none.pdf' is missing below"),
        (changed(tools="OCR"), "tools: must be a list"),
        (changed(sub_tasks="text"), "sub_tasks: a checkpoint tree must be"),
        (changed(sub_tasks=[{"id": "1", "weight": "2"}]), "sub_tasks: the weight of node '1' must be a number"),
    ],
)
def test_damaged_tasks_are_told_with_their_field(task: Any, told: str, write_tasks: Write) -> None:
    root = write_tasks({"7": task})
    with pytest.raises(DataProblem, match=told) as problem:
        data.index(root)
    assert "end.json" in str(problem.value) and "\n" not in str(problem.value)


def test_a_key_that_is_no_number_is_refused(write_tasks: Write) -> None:
    root = write_tasks({"seven": TASK})
    with pytest.raises(DataProblem, match="the key 'seven' must be an integer"):
        data.index(root)


def test_a_list_of_tools_is_read_in_all_its_forms(write_tasks: Write) -> None:
    root = write_tasks(
        {}, [{"name": "A", "description": "does a"}, {"tool_name": "B"}, {"id": "C"}, {"description": "none"}, "D", ""]
    )
    assert [(tool.name, tool.description) for tool in data.read_tools(root).values()] == [
        ("A", "does a"),
        ("B", ""),
        ("C", ""),
        ("D", ""),
    ]


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ("[", "is damaged"),
        ("5", "must hold an object of tools by name or a list of tools, not int"),
        ({"OCR": "reads"}, "the tool 'OCR': a tool must be an object"),
        ({"OCR": {"name": "Ocr"}}, "has the other name 'Ocr'"),
        ({"OCR": {"inputs": [{"type": "picture"}]}}, "the tool 'OCR': a tool parameter must be"),
        ([5], "the tool 5: a tool must be an object with a text 'name'"),
    ],
)
def test_a_damaged_toolmeta_is_told(meta: Any, told: str, write_tasks: Write) -> None:
    root = write_tasks({"7": TASK}, meta)
    with pytest.raises(DataProblem, match=told) as problem:
        data.index(root)
    assert "toolmeta.json" in str(problem.value)


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (TASK, []),
        (changed(dialogs=[{"role": "user", "content": "No resources."}]), []),
        (
            changed(files=[{"path": "files/a.PNG"}]),
            ["'files' and the first turn's 'resources' name different files; 'files' are used"],
        ),
        (changed(files=[*TASK["files"], {"type": "pdf"}]), ["entries of 'files' without a path: 1; they are dropped"]),  # type: ignore[misc]
        (changed(tools=["OCR", "Juggler"]), ["'tools' names 'Juggler', not in toolmeta.json"]),
        (changed(workflow_category_6class="Other"), ["the category 'Other' is unknown; known are Data Analysis"]),
    ],
)
def test_strange_data_is_told(task: Any, told: list[str], write_tasks: Write) -> None:
    root = write_tasks({"7": task})
    found = data.strange(root)
    assert len(found) == len(told)
    for sentence, part in zip(found, told, strict=True):
        assert sentence.startswith(f"{root}/end.json: task '7': {part}")


def test_every_tool_of_the_servers_list_has_a_category() -> None:
    from tool_impls.registry import TOOLS

    assert {name: info.category for name, info in TOOLS.items()} == WORKFLOW_CATEGORY_OF
    assert {category: tools[: len(CATEGORIES[category])] for category, tools in WORKFLOW_CATEGORIES.items()} == dict(
        CATEGORIES
    )
    assert len(CATEGORY_OF) == 14 and len(WORKFLOW_CATEGORY_OF) == 38


HALL = [
    {
        "id": "1",
        "weight": 0.4,
        "sub_tasks": [
            {"id": "1.1", "weight": 0.5, "requirements": "The busiest weekday is named and is Thursday."},
            {"id": "1.2", "weight": 0.5, "requirements": "Bookings are given for all seven weekdays."},
        ],
    },
    {"id": "2", "weight": 0.25, "requirements": "A chart exists."},
    {
        "id": "3",
        "weight": 0.35,
        "sub_tasks": [{"id": "3.1", "weight": 1, "requirements": "A PDF."}, {"id": "3.2", "weight": 2}],
    },
]


def shape(value: Value) -> list[Any]:
    own = [value.node.id, value.depth, round(value.value, 9)]
    return [own, *[line for child in value.children for line in shape(child)]]


def test_every_node_has_a_value_and_a_depth() -> None:
    assert shape(aggregate(parse(HALL), [10, 6, 8, 4, 7])) == [
        ["root", 0, 7.3],
        ["1", 1, 8],
        ["1.1", 2, 10],
        ["1.2", 2, 6],
        ["2", 1, 8],
        ["3", 1, 6],
        ["3.1", 2, 4],
        ["3.2", 2, 7],
    ]


def test_a_node_keeps_what_was_stored() -> None:
    first, *_, last = leaves(parse(HALL))
    assert (first.id, first.requirement, first.weight) == ("1.1", "The busiest weekday is named and is Thursday.", 0.5)
    assert last.requirement is None and last.raw == {"id": "3.2", "weight": 2}


@pytest.mark.parametrize(
    ("tree", "ids"),
    [
        ([], ["root"]),
        ({}, ["unknown"]),
        ({"sub_tasks": None}, ["unknown"]),
        ({"id": "a"}, ["a"]),
        ({"id": "r", "sub_tasks": [{"id": "a"}, {"id": "b", "sub_tasks": []}]}, ["a", "b"]),
    ],
)
def test_leaves_of_every_accepted_shape(tree: Any, ids: list[str]) -> None:
    assert [leaf.id for leaf in leaves(parse(tree))] == ids


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"id": "leaf"}
    for _ in range(levels):
        node = {"sub_tasks": [node]}
    return node


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ("text", "a list of nodes or one node, not 'text'"),
        (None, "not None"),
        (["text"], "must be an object, not 'text'"),
        ([None], "must be an object, not None"),
        ({"id": "r", "sub_tasks": {"id": "x"}}, "sub_tasks of node 'r' must be a list"),
        ({"id": "r", "sub_tasks": "ab"}, "sub_tasks of node 'r' must be a list"),
        (nested(MAX_DEPTH + 1), f"more than {MAX_DEPTH} levels"),
    ],
)
def test_other_shapes_are_refused(tree: Any, told: str) -> None:
    with pytest.raises(DataProblem, match=told):
        parse(tree)


@pytest.mark.parametrize("weight", [None, "0.5", [1], float("nan"), float("inf"), 10**400])
def test_a_weight_that_is_no_number_is_refused(weight: Any) -> None:
    root = parse([{"id": "a", "weight": 1}, {"id": "b", "weight": weight}])
    with pytest.raises(DataProblem, match="the weight of node 'b' must be a number"):
        check_weights(root)
    with pytest.raises(DataProblem, match="the weight of node 'b' must be a number"):
        aggregate(root, [1, 1])


def test_the_roots_own_weight_has_no_meaning() -> None:
    root = parse({"id": "r", "weight": None, "sub_tasks": [{"id": "a"}]})
    check_weights(root)
    assert aggregate(root, [6]).value == 6


@pytest.mark.parametrize("scores", [[], [1.0], [1.0, 2.0, 3.0]])
def test_scores_that_do_not_fit_the_tree_are_refused(scores: list[float]) -> None:
    with pytest.raises(DataProblem, match="the tree has 2 leaves"):
        aggregate(parse([{"id": "a"}, {"id": "b"}]), scores)
