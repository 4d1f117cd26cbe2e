"""Data whose layout differs from the official one: understood with a sentence that names the way, or refused by
record and field."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Index
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Sample
from agentgauge.data.differences import Differences
from agentgauge.data.find import difference_notes
from bench_gta import layout as gta_layout
from bench_gta.atomic import data as atomic
from bench_gta.workflow import data as workflow
from bench_mmau import data as mmau
from bench_mmau import data as mmau_layout
from bench_wild import data, layout

Change = Callable[[Any], Any]

TASKS = Registry.installed()


def put(path: str, value: Any) -> Change:
    """Set a field; ``...`` removes it. Whole numbers in the path are places in lists."""

    def change(record: Any) -> Any:
        record = copy.deepcopy(record)
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        part: Any = record
        for step in way:
            part = part[step]
        if value is ...:
            del part[last]
        else:
            part[last] = value
        return record

    return change


# -- GTA-Atomic

CALL = {"type": "function", "function": {"name": "OCR", "arguments": {"image": "image/a.png"}}}
QUERY: dict[str, Any] = {
    "tools": [{"name": "OCR"}],
    "files": [{"type": "image", "path": "image/a.png", "url": None}],
    "dialogs": [
        {"role": "user", "content": "What does it say?"},
        {"role": "assistant", "thought": "Read it.", "tool_calls": [CALL]},
        {"role": "tool", "name": "OCR", "content": {"type": "text", "content": "42"}},
        {"role": "assistant", "content": "It says 42."},
    ],
    "gt_answer": {"whitelist": [["42"]], "blacklist": None},
}
ARGUMENTS = "dialogs.1.tool_calls.0.function.arguments"


def picture(path: str) -> Change:
    """The same file under another name, in 'files' and in the call."""
    return lambda query: put(f"{ARGUMENTS}.image", path)(put("files.0.path", path)(query))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("tools", ["OCR"]), "'tools' are names, read as objects with that 'name'"),
        (put("files.0.type", ...), "'files' have no type, read as 'image' by the ending"),
        (picture("image\\a.png"), "paths of 'files' have backslashes, read as slashes"),
        (picture("image/A.PNG"), "paths of 'files' have other capitals than the files, whose own names are taken"),
        (put(ARGUMENTS, '{"image": "image/a.png"}'), "arguments of calls are JSON texts, read as objects"),
        (put("dialogs.2.content", "42"), "results of tools are texts, read as objects of the type 'text'"),
        (
            put("dialogs.2.content", [{"type": "text", "content": "42"}]),
            "results of tools are lists of one object, read as that object",
        ),
        (put("gt_answer.whitelist", ["42"]), "'gt_answer.whitelist' is one text, read as one group of one alias"),
        (put("gt_answer.whitelist", "42"), "'gt_answer.whitelist' is one text, read as one group of one alias"),
        (put("gt_answer.whitelist", [[42]]), "'gt_answer.whitelist' has numbers among its aliases, read as texts"),
        (put("gt_answer.blacklist", ...), "'gt_answer' has no 'blacklist', read as null"),
        (
            lambda query: {**query, "dialogs": [{"role": "system", "content": "Be kind."}, *query["dialogs"]]},
            "'dialogs' have turns of the system, left out because the prompts say what these say",
        ),
    ],
)
def test_a_query_in_another_layout_is_the_same_query(change: Change, told: str, tmp_path: Path) -> None:
    root = write_atomic(tmp_path, {"0": QUERY, "1": change(QUERY)})
    index = atomic.index(root)
    official, other = (atomic.load(index, row, "t") for row in index.rows)
    assert index.differences == (f"1 sample, '1': {told}",)
    assert without_urls(other) == without_urls(official)
    assert index.rows[0].tags == index.rows[1].tags
    assert atomic.resolve(other).dialogs == atomic.resolve(official).dialogs


def without_urls(sample: Sample) -> Any:
    return {
        **sample.payload,
        "files": [{key: used[key] for key in ("type", "path")} for used in sample.payload["files"]],
    }


def test_a_file_as_a_text_is_its_path(tmp_path: Path) -> None:
    index = atomic.index(write_atomic(tmp_path, {"0": put("files", ["image/a.png"])(QUERY)}))
    assert atomic.load(index, index.rows[0], "t").payload["files"] == [{"type": "image", "path": "image/a.png"}]
    assert [text.partition(": ")[2] for text in index.differences] == [
        "'files' are texts, read as the paths of files",
        "'files' have no type, read as 'image' by the ending",
    ]


def test_a_flat_blacklist_is_one_group(tmp_path: Path) -> None:
    index = atomic.index(write_atomic(tmp_path, {"0": put("gt_answer.blacklist", ["41", "43"])(QUERY)}))
    assert atomic.load(index, index.rows[0], "t").payload["gt_answer"]["blacklist"] == [["41", "43"]]
    assert index.differences == ("1 sample, '0': 'gt_answer.blacklist' is a flat list, read as one group",)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            put("gt_answer.whitelist", ["42", "forty-two"]),
            r"sample '0', gt_answer: must hold .* aliases of one another",
        ),
        (put("files", ["notes.txt"]), r"sample '0', files\[0\]: must be an object with the texts 'type' and 'path'"),
        (put(ARGUMENTS, "image=image/a.png"), r"sample '0', dialogs\[1\].tool_calls\[0\]: must hold a function"),
        (put("dialogs.0.role", "human"), r"sample '0', dialogs\[0\]: must be an object with the role"),
        (picture("../image/A.PNG"), r"sample '0', files\[0\].path: .* must be a path relative"),
        (picture("image/b.png"), r"sample '0', files\[0\].path: the file 'image/b.png' is missing"),
    ],
)
def test_a_query_that_cannot_be_understood_is_refused(change: Change, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match=told):
        atomic.index(write_atomic(tmp_path, {"0": change(QUERY)}))


def test_a_path_that_two_files_fit_but_for_capitals_is_refused(tmp_path: Path) -> None:
    root = write_atomic(tmp_path, {"0": picture("image/A.PNG")(QUERY)})
    (root / "image" / "a.PNG").write_bytes(b"")
    if len(list((root / "image").iterdir())) == 1:
        pytest.skip("this file system makes no difference between capitals")
    with pytest.raises(DataProblem, match="is missing"):
        atomic.index(root)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            lambda queries: json.dumps(queries),
            "dataset.json holds a list instead of an object; positions from 0 are taken as keys",
        ),
        (
            lambda queries: json.dumps(queries, indent=1),
            "dataset.json holds a list instead of an object; positions from 0 are taken as keys",
        ),
        (
            lambda queries: "\ufeff" + "\n\n".join(map(json.dumps, queries)),
            "dataset.json holds JSON Lines instead of an object; positions from 0 are taken as keys",
        ),
    ],
)
def test_lists_and_lines_of_queries_are_read_by_position(text: Callable[[Any], str], told: str, tmp_path: Path) -> None:
    queries = [QUERY, put("gt_answer", ["é"])(QUERY), put("gt_answer", None)(QUERY)]
    root = write_atomic(tmp_path, text(queries))
    index = atomic.index(root)
    assert index.differences == (told,)
    assert [row.id for row in index.rows] == ["0", "1", "2"]
    assert [atomic.load(index, row, "t").payload for row in index.rows] == queries
    assert [reference for _, reference in atomic.references(root / "dataset.json")] == [
        query["gt_answer"] for query in queries
    ]


def write_atomic(folder: Path, samples: Any) -> Path:
    (folder / "image").mkdir()
    (folder / "image" / "a.png").write_bytes(b"")
    meta = {"OCR": {"name": "OCR", "inputs": [{"type": "image", "name": "image"}], "outputs": [{"type": "text"}]}}
    (folder / "toolmeta.json").write_text(json.dumps(meta), encoding="utf-8")
    (folder / "dataset.json").write_text(samples if isinstance(samples, str) else json.dumps(samples), encoding="utf-8")
    return folder


# -- GTA-Workflow

JOB: dict[str, Any] = {
    "tools": ["OCR"],
    "files": [{"type": "png", "path": "image/a.png"}],
    "dialogs": [
        {"role": "user", "content": "Read it.", "resources": [{"type": "png", "path": "image/a.png"}]},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "assistant", "content": "42"},
    ],
    "sub_tasks": [{"id": "1", "requirements": "It says 42."}],
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("tools", [{"name": "OCR"}]), None),  # both are official (docs/benchmarks/gta_workflow.md#tasks)
        (put(ARGUMENTS, '{"image": "image/a.png"}'), "arguments of calls are JSON texts, read as objects"),
        (
            lambda job: put("dialogs.0.resources.0.path", "image/A.png")(picture("image/A.png")(job)),
            "paths of 'files' have other capitals",
        ),
        (put("author", "nobody"), "the field 'author' is unknown and not read"),
    ],
)
def test_a_workflow_in_another_layout_is_the_same_workflow(change: Change, told: str | None, tmp_path: Path) -> None:
    root = write_atomic(tmp_path, {})
    (root / "end.json").write_text(json.dumps([JOB, change(JOB)]), encoding="utf-8")
    index = workflow.index(root)
    listed, *others = index.differences
    assert listed == "end.json holds a list instead of an object; positions from 0 are taken as keys"
    assert [other.startswith(f"1 task, '1': {told}") for other in others] == ([True] if told else [])
    official, other = (workflow.load(index, row, "t") for row in index.rows)
    assert workflow.resolve(other) == workflow.resolve(official)
    assert index.rows[0].tags == index.rows[1].tags
    assert workflow.strange(root) == []


# -- WildToolBench


def session() -> dict[str, Any]:
    first = (Path(data.__file__).parent / "mini" / "Wild-Tool-Bench.jsonl").read_text(encoding="utf-8").splitlines()[0]
    return dict(json.loads(first))


NODE = "english_answer_list.0.0"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda record: {**record, "english_turn_subtypes": ["First Turn", *record["english_turn_subtypes"]]},
            "'english_turn_subtypes' has an entry for the first task, 'First Turn', which is left out",
        ),
        (
            lambda record: {**record, "english_turn_subtypes": [None, *record["english_turn_subtypes"]]},
            "'english_turn_subtypes' has an entry for the first task, None, which is left out",
        ),
        (
            put("english_turn_subtypes.0", "coreferential_reference"),
            "'english_turn_subtypes' has 'coreferential_reference', read as 'Coreferential Reference'",
        ),
        (
            put("english_task_types.1", "parallel multi tool"),
            "'english_task_types' has 'parallel multi tool', read as 'Parallel Multi-Tool'",
        ),
        (put(f"{NODE}.idx", ...), None),
        (put(f"{NODE}.dependency_list", None), "'dependency_list' is null, read as an empty list"),
        (put("english_answer_list.0.1.dependency_list", ["0"]), "'dependency_list' has texts, read as numbers"),
        (
            lambda record: put(
                f"{NODE}.action.arguments", json.dumps(record["english_answer_list"][0][0]["action"]["arguments"])
            )(record),
            "arguments of actions are JSON texts, read as objects",
        ),
        (
            lambda record: {**record, "english_tools": [tool["function"] for tool in record["english_tools"]]},
            "tools have no 'function' around them, read as if they had",
        ),
        (put("source", "x"), "the field 'source' is unknown and not read"),
    ],
)
def test_a_session_in_another_layout_is_the_same_session(change: Change, told: str | None, tmp_path: Path) -> None:
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(change(session())), encoding="utf-8")
    index = data.index(tmp_path)
    assert index.differences == ((f"1 session, 'wild_tool_bench_0': {told}",) if told else ())
    assert data.resolve(data.load(index, index.rows[0], "t"))[0] == data.build_session(session())
    assert data.load_sessions(tmp_path / "Wild-Tool-Bench.jsonl") == [data.build_session(session())]
    assert TASKS["wild"].data.check(tmp_path)[0] == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            put("english_env_info", "Current time: 2024-05-01"),
            "'english_env_info' begins with a prefix, which is sent to the model as it is",
        ),
        (put(f"{NODE}.idx", 7), "'idx' of actions differs from their place in the list, which counts"),
        (
            put("id", "mine"),
            "the id does not match its line; the published evaluator finds sessions by line, AgentGauge by id",
        ),
    ],
)
def test_what_is_odd_about_a_session_is_told(change: Change, told: str, tmp_path: Path) -> None:
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(change(session())), encoding="utf-8")
    assert [text.partition(": ")[2] for text in data.index(tmp_path).differences] == [told]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda record: {**record, "english_turn_subtypes": ["Partial Information"] * 4}, "english_turn_subtypes"),
        (put("english_turn_subtypes.0", "Something Else"), r"english_turn_subtypes\[0\]"),
        (put(f"{NODE}.dependency_list", ["first"]), r"english_answer_list\[0\]\[0\]\.dependency_list"),
        (put(f"{NODE}.dependency_list", ...), r"english_answer_list\[0\]\[0\]\.dependency_list"),
        (put(f"{NODE}.action.arguments", "item=3"), r"english_answer_list\[0\]\[0\]\.action\.arguments"),
    ],
)
def test_a_session_that_cannot_be_understood_is_refused(change: Change, field: str, tmp_path: Path) -> None:
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(change(session())), encoding="utf-8")
    with pytest.raises(DataProblem, match=f"line 1, session 'wild_tool_bench_0': {field}"):
        data.index(tmp_path)


def test_a_list_of_sessions(tmp_path: Path) -> None:
    records = [session(), {**session(), "id": "wild_tool_bench_1"}]
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(records, indent=1, ensure_ascii=False), encoding="utf-8")
    index = data.index(tmp_path)
    assert index.differences == (
        "Wild-Tool-Bench.jsonl holds a list instead of JSON Lines; its entries count as lines",
    )
    assert [data.load(index, row, "t").payload["session"] for row in index.rows[::4]] == records


# -- Apple MMAU


def problem(number: int | str = "m-1") -> dict[str, Any]:
    return {"id": number, "messages": [{"role": "user", "content": "6*7?"}], "raw_problem": "6*7?", "gt_answer": "42"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("id", 5), "1 record, '5': 'id' is a number, read as a text"),
        (
            lambda record: {**put("id", ...)(record), "deliverable_id": 5},
            "1 record, '5': 'deliverable_id' is a number; the record goes by its",
        ),
        (
            put("messages", json.dumps(problem()["messages"])),
            "1 record, 'm-1': 'messages' is a JSON text, read as a list",
        ),
    ],
)
def test_a_record_in_another_layout_is_the_same_record(change: Change, told: str, tmp_path: Path) -> None:
    (tmp_path / "math_standard_20240712.jsonl").write_text(json.dumps(change(problem())), encoding="utf-8")
    index = mmau.index(tmp_path, mmau.MATH, ())
    assert len(index.differences) == 1 and index.differences[0].startswith(told)
    payload = mmau.load(index, index.rows[0], "t").payload
    assert payload["messages"] == problem()["messages"] and type(payload.get("id", "")) is str


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("math_standard_20240712.jsonl", ()),
        ("math_standard.jsonl", ("math_standard.jsonl has no date in its name; the release has 20240712",)),
        (
            "math_standard_20250101.jsonl",
            ("math_standard_20250101.jsonl has another date in its name; the release has 20240712",),
        ),
    ],
)
def test_names_of_files(name: str, told: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / name).write_text(json.dumps(problem()), encoding="utf-8")
    assert mmau.index(tmp_path, mmau.MATH, ()).differences == told


def test_blank_lines_are_told(tmp_path: Path) -> None:
    lines = [json.dumps(problem("a")), "", json.dumps(problem("b")), ""]
    (tmp_path / "math_standard_20240712.jsonl").write_text("\n".join(lines), encoding="utf-8")
    index = mmau.index(tmp_path, mmau.MATH, ())
    assert [row.id for row in index.rows] == ["a", "b"]
    assert [text[:40] for text in index.differences] == ["1 record, 'b': blank lines stand before t"[:40]]


def test_files_of_no_task_are_named_once(tmp_path: Path) -> None:
    for name in ("math_standard_20240712", "tool_use_execution_all_20240712", "surprise"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(problem()), encoding="utf-8")
    roots = dict.fromkeys(("mmau.math_standard", "mmau.math_planner"), tmp_path)
    assert list(difference_notes(TASKS, roots)) == [
        f"{tmp_path} differs from the official layout: surprise.jsonl belongs to no task and is left alone"
    ]


def plan(number: str) -> str:
    return json.dumps(
        {"id": number, "messages": [{"role": "user", "content": "é?"}], "target_plan_number": 1}, ensure_ascii=False
    )


def test_parts_of_a_task_are_read_one_after_the_other(tmp_path: Path) -> None:
    for part, ids in {"single": "ab", "triple": "cd", "double": "e"}.items():
        text = "".join(f"{plan(id)}\n" for id in ids)
        (tmp_path / f"tool_use_plan_{part}_no_reasoning_20240712.jsonl").write_text(text, encoding="utf-8")
    index = mmau.index(tmp_path, mmau.NO_REASONING, ())
    assert [mmau.load(index, row, "t").payload["id"] for row in index.rows] == list("eabcd")
    assert [
        mmau.load(again, row, "t").payload["id"]
        for again in [mmau.index(tmp_path, mmau.NO_REASONING, ())]
        for row in again.rows
    ] == list("eabcd")
    (told,) = index.differences
    assert told.endswith("are read one after the other, as no file of all is there")
    (tmp_path / "tool_use_plan_no_reasoning_all_20240712.jsonl").write_text(plan("x"), encoding="utf-8")
    assert [row.id for row in mmau.index(tmp_path, mmau.NO_REASONING, ()).rows] == ["x"]


def test_two_dates_of_one_part_are_refused(tmp_path: Path) -> None:
    for date in ("20240712", "20250101"):
        (tmp_path / f"tool_use_plan_single_no_reasoning_{date}.jsonl").write_text(plan("x"), encoding="utf-8")
    with pytest.raises(DataProblem, match="2 files for one task"):
        mmau.find(tmp_path, mmau.NO_REASONING)


# -- what all share


@pytest.mark.parametrize(
    ("data_set", "folders"),
    [
        ("gta_atomic", ["", "gta_atomic", "gta_dataset", "gta_dataset/gta_dataset", "gta_atomic/gta_dataset"]),
        ("gta_workflow", ["", "gta_workflow", "gta_dataset_v2", "gta_workflow/gta_dataset_v2"]),
        (
            "wild",
            [
                "",
                "data",
                "wild",
                "wild/data",
                "WildToolBench/data",
                "WildToolBench-main/data",
                "wild/WildToolBench/data",
            ],
        ),
        ("mmau", ["", "mmau"]),
    ],
)
def test_data_is_found_under_the_names_of_archives(data_set: str, folders: list[str], tmp_path: Path) -> None:
    task = one_task(data_set)
    files = [file.relative_to(task.data.bundled) for file in task.data.bundled.glob("*.json*")]
    for number, folder in enumerate(folders):
        base = tmp_path / str(number)
        place = base / folder
        place.mkdir(parents=True)
        for file in files:
            (place / file).symlink_to(task.data.bundled / file)
        root = task.data.find(base)
        assert root is not None and place in (root, root / "data")


@pytest.mark.parametrize("name", sorted(name for name in TASKS.names if name.startswith(("gta", "wild", "mmau"))))
def test_the_bundled_data_is_in_the_official_layout(name: str) -> None:
    task = TASKS[name]
    assert list(task.data.differences(task.data.bundled)) == []


@pytest.mark.parametrize(
    ("official", "file"),
    [
        (gta_layout.atomic, "bench_gta/atomic/mini/dataset.json"),
        (gta_layout.workflow, "bench_gta/workflow/mini/end.json"),
        (layout.official, "bench_wild/mini/Wild-Tool-Bench.jsonl"),
        (mmau_layout.official, "bench_mmau/mini/code_contests_regular_20240712.jsonl"),
    ],
)
def test_a_record_in_the_official_layout_is_handed_back_as_it_is(
    official: Callable[[Any], tuple[Any, list[str]]], file: str
) -> None:
    text = (Path(__file__).parents[2] / file).read_text(encoding="utf-8")
    records = (
        list(json.loads(text).values()) if file.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    )
    for record in records:
        again, ways = official(record)
        assert again is record and ways == []


@pytest.mark.parametrize("official", [gta_layout.atomic, gta_layout.workflow, layout.official, mmau_layout.official])
def test_what_is_no_record_is_left_to_the_checks(official: Callable[[Any], tuple[Any, list[str]]]) -> None:
    for value in (
        None,
        5,
        "x",
        [],
        {},
        {"tools": 5, "files": [5], "dialogs": [5, {"tool_calls": [5]}], "english_answer_list": [[5, {"action": 5}]]},
    ):
        assert official(value)[0] == value


def test_ways_are_counted_with_the_first_record() -> None:
    told = Differences()
    told.of_record("3", ["odd", "odd"])
    told.of_record("7", ["odd", "even"])
    told.of_file("a list")
    assert told.sentences() == ("a list", "2 samples, first '3': odd", "1 sample, '7': even")


def test_differences_are_kept_with_the_index(tmp_path: Path) -> None:
    root = write_atomic(tmp_path, {"0": put("tools", ["OCR"])(QUERY)})
    first: Index = atomic.index(root)
    file, before = first.file, first.file.stat()
    file.write_bytes(bytes(before.st_size))  # the file is not read again
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert atomic.index(root) == first and first.differences


def one_task(data_set: str) -> Task:
    return next(task for task in TASKS if task.data.name == data_set)
