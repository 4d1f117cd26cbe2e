"""WildToolBench's bundled sessions: their shape, their variety, and that the gold can be reached."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_wild.arguments import check, find_tool
from bench_wild.data import LANGUAGES, Session, WildTask, index, load_sessions, problems
from bench_wild.fixes import PARITY, STRICT
from bench_wild.labels import SUBTYPES, TYPES
from bench_wild.oracle import unreachable
from bench_wild.prompts import convert_tools
from tests.every import every

MINI = Path(__file__).parents[2] / "bench_wild" / "mini"
FILE = MINI / "Wild-Tool-Bench.jsonl"
LINES = FILE.read_text(encoding="utf-8").splitlines()
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
SESSIONS = {language: load_sessions(FILE, language) for language in LANGUAGES}
TASKS = [task for session in SESSIONS["en"] for task in session.tasks]
CALLS = [node for task in TASKS for node in task.answer_list if node.is_tool]

every_record = every("record", RECORDS, ids=lambda record: record["id"])
every_session = every(
    "session", [one for found in SESSIONS.values() for one in found], ids=lambda one: f"{one.id}-{one.language}"
)


def walk(value: Any) -> Iterator[Any]:
    yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(member)


def names(task: WildTask) -> list[str]:
    return [node.name for node in task.answer_list if node.is_tool]


SIDE_BY_SIDE = [names(task) for task in TASKS if task.structure == "combine"]
ARGUMENTS = [part for node in CALLS for part in walk(dict(node.arguments))]
SCHEMAS = [
    part
    for session in SESSIONS["en"]
    for tool in session.tools
    for part in walk(tool["function"]["parameters"]["properties"])
    if isinstance(part, dict)
]
STRINGS = [part for part in ARGUMENTS if isinstance(part, str)]
LISTS = [part for part in ARGUMENTS if isinstance(part, list) and part]
KINDS = Counter(task.type for task in TASKS) + Counter(task.subtype for task in TASKS)
KINDS += Counter(str(task.structure) for task in TASKS)


@pytest.mark.parametrize(
    ("what", "count", "least"),
    [
        ("sessions", len(RECORDS), 16),
        *[
            (kind, KINDS[kind], 4)
            for kind in sorted({*TYPES.values(), *SUBTYPES.values(), "combine", "serial", "cs", "None"})
        ],
        ("two questions", sum(sum(node.is_ask for node in task.answer_list) >= 2 for task in TASKS), 2),
        ("one tool several times side by side", sum(len(set(one)) < len(one) for one in SIDE_BY_SIDE), 5),
        ("the same tool with another between", sum(one[0] != one[1] and one[0] in one[2:] for one in SIDE_BY_SIDE), 1),
        ("seven calls side by side", sum(len(one) >= 7 for one in SIDE_BY_SIDE), 1),
        ("six calls of a mixed graph", sum(task.structure == "cs" and len(names(task)) >= 6 for task in TASKS), 1),
        ("nested objects", sum(isinstance(value, dict) for node in CALLS for value in node.arguments.values()), 8),
        ("lists of objects", sum(isinstance(part[0], dict) for part in LISTS), 5),
        ("whole floats", sum(type(part) is float and part.is_integer() for part in ARGUMENTS), 1),
        ("true or false", sum(type(part) is bool for part in ARGUMENTS), 7),
        (
            "errors as observations",
            sum("error" in node.observation for node in CALLS if type(node.observation) is dict),
            1,
        ),
        ("strings of ten words or more", sum(len(part.split()) >= 10 for part in STRINGS), 3),
        ("strings below ten characters", sum(len(part) < 10 for part in STRINGS), 40),
        ("parameters of type float", sum(part.get("type") == "float" for part in SCHEMAS), 4),
        ("parameters with an enum", sum("enum" in part for part in SCHEMAS), 10),
        ("parameters with a default", sum("default" in part for part in SCHEMAS), 8),
        ("parameters with anyOf", sum("anyOf" in part for part in SCHEMAS), 1),
        ("parameters without a type", sum(set(part) == {"description"} for part in SCHEMAS), 1),
        ("objects with free members", sum(part.get("additionalProperties") is True for part in SCHEMAS), 1),
    ],
)
def test_enough_of_each_kind(what: str, count: int, least: int) -> None:
    assert count >= least, what


def test_no_tool_belongs_to_two_sessions() -> None:
    owners = Counter(name for one in SESSIONS["en"] for name in {tool["function"]["name"] for tool in one.tools})
    assert len(owners) >= 80 and set(owners.values()) == {1}


def test_ids_count_the_lines() -> None:
    """The published scorer takes the number in an id for a line number."""
    assert [record["id"] for record in RECORDS] == [f"wild_tool_bench_{number}" for number in range(len(RECORDS))]
    assert [json.dumps(record, ensure_ascii=False) for record in RECORDS] == LINES


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_loader_finds_nothing_wrong(language: str) -> None:
    assert problems(FILE, language) == []
    assert len(index(MINI, language).rows) == len(TASKS)


@every_record
def test_the_twins_of_a_record_differ_in_their_texts_only(record: dict[str, Any]) -> None:
    fields = ("tools", "tasks", "answer_list", "task_types", "turn_subtypes")
    assert set(record) == {"id", "env_info", "english_env_info", *fields, *(f"english_{field}" for field in fields)}
    for field in fields:
        assert shape(record[field]) == shape(record[f"english_{field}"])
    assert [TYPES[label] for label in record["task_types"]] == record["english_task_types"]
    assert [SUBTYPES[label] for label in record["turn_subtypes"]] == record["english_turn_subtypes"]
    assert called(record, "") == called(record, "english_")
    chinese, english = (json.dumps(record[f"{twin}tasks"], ensure_ascii=False) for twin in ("", "english_"))
    assert re.search("[\u4e00-\u9fa5]", chinese) and not re.search("[\u4e00-\u9fa5]", english)


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "a text" if isinstance(value, str) else value


def called(record: dict[str, Any], twin: str) -> list[str]:
    actions = [node["action"]["name"] for nodes in record[f"{twin}answer_list"] for node in nodes]
    return [tool["function"]["name"] for tool in record[f"{twin}tools"]] + actions


@every_session
def test_the_oracle_reaches_100(session: Session) -> None:
    assert unreachable(session) == []


@every_session
@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
def test_gold_arguments_keep_their_schema(session: Session, fixes: frozenset[Any]) -> None:
    for node in (node for task in session.tasks for node in task.answer_list if node.is_tool):
        for tools in (session.tools, convert_tools(session.tools)):
            tool, arguments = find_tool(tools, node.name), dict(node.arguments)
            assert tool and check(tool, json.dumps(arguments, ensure_ascii=False), arguments, fixes) == "correct"
