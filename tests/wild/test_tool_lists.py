"""What a tool list lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bench_wild
from agentgauge.core.errors import DataProblem
from bench_wild.check import lacks, read_tool_lists
from bench_wild.labels import PSEUDO
from bench_wild.task import WildData


def tool(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required or []}
    return {"type": "function", "function": {"name": "f", "description": "Does.", "parameters": parameters, **more}}


MINI = Path(bench_wild.__file__).parent / "mini"
TEXT = {"type": "string", "description": "a text"}


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ([tool({"a": TEXT}, ["a"])], []),
        ([tool({}), tool({})], ["2 tools are called 'f'; a call means the last"]),
        ([tool({}, description="")], ["f has no description"]),
        ([tool({}, parameters=None)], ["f has no parameters"]),
        ([tool({"a": TEXT}, ["a", "b"])], ["f requires 'b', which it does not declare"]),
        (
            [tool({"a": {"type": "interger", "description": "d"}})],
            ["f.a has the unknown type 'interger', which allows every value"],
        ),
        ([tool({"a": {"description": "d"}})], ["f.a has no type, which the evaluator takes for string"]),
        ([tool({"a": {"type": "string"}})], ["f.a has no description"]),
        ([tool({"a": "string"})], ['f.a is not a schema but "string"']),
        ([tool({"a": {"anyOf": [{"type": "null"}], "description": "d"}})], []),
        ([tool({"a": {"type": "array", "description": "d"}})], ["f.a is an array without items"]),
        ([tool({"a": {"type": "array", "description": "d", "items": {"type": "string"}}})], []),
        (
            [tool({"a": {"type": "array", "description": "d", "items": {}}})],
            ["f.a[] has no type, which the evaluator takes for string"],
        ),
        ([tool({"a": True})], ["f.a is true, which is a schema, but the published evaluator stops on it"]),
        ([tool({"a": None})], ["f.a is not a schema but null"]),
        (
            [tool({"a": {"type": ["string", "null"], "description": "d"}})],
            ["f.a has the types string, null; the published evaluator stops on a list of types"],
        ),
        (
            [tool({"a": {"$ref": "#/$defs/A", "description": "d"}})],
            ["f.a refers to '#/$defs/A', which the evaluator takes for string, and which leads to nothing"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "items": True}})],
            ["f.a[] is true, which is a schema, but the published evaluator stops on it"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "items": [{"type": "string"}]}})],
            ["f.a is a tuple, whose items the evaluator takes for strings"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "prefixItems": [{"type": "string"}], "items": False}})],
            [
                "f.a has prefixItems, which the evaluator does not read",
                "f.a[] is false, which is a schema, but the published evaluator stops on it",
            ],
        ),
        (
            [tool({"a": {"type": "object", "description": "d", "additionalProperties": {"type": "string"}}})],
            ["f.a has a schema for further members, which the evaluator refuses"],
        ),
        ([tool({"a": {"type": "object", "description": "d", "additionalProperties": True}})], []),
        (
            [tool({"a": {"type": "object", "description": "d"}})],
            ["f.a is an object without properties, so that the evaluator accepts only an empty one"],
        ),
        (
            [tool({"a": {"type": "object", "description": "d", "properties": {"b": {}}, "required": ["c"]}})],
            [
                "f.a requires 'c', which it does not declare",
                "f.a.b has no type, which the evaluator takes for string",
                "f.a.b has no description",
            ],
        ),
    ],
)
def test_what_a_list_lacks(tools: list[dict[str, Any]], found: list[str]) -> None:
    assert lacks(tools) == found


def test_a_schema_may_be_nested_deep() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": TEXT}}
    for _ in range(2_000):
        schema = {"type": "object", "description": "d", "properties": {"a": schema}}
    assert lacks([tool({}, parameters=schema)]) == ["f has parameters that are nested too deep to be looked at"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[", "line 2: not valid JSON"),
        ("{}", "line 2: must be a list of tools"),
        ('[{"function": {}}]', "line 2: must be a list of tools"),
    ],
)
def test_a_line_that_is_no_list(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "tools_en.jsonl").write_text(f"{json.dumps([tool({})])}\n{line}\n", encoding="utf-8")
    with pytest.raises(DataProblem, match=message):
        list(read_tool_lists(tmp_path / "tools_en.jsonl"))


def test_the_check_command_reads_lists_too(tmp_path: Path) -> None:
    (tmp_path / "tools_zh.jsonl").write_text(f"{json.dumps([tool({}), tool({})])}\n", encoding="utf-8")
    assert WildData().check(tmp_path) == (
        [],
        ["tools_zh.jsonl, line 1: 2 tools are called 'f'; a call means the last"],
    )


def session(place: str) -> bytes:
    """A session whose first gold call gives an argument that a Boolean schema allows."""
    record = json.loads((MINI / "Wild-Tool-Bench.jsonl").read_bytes().partition(b"\n")[0])
    area = {"property": True, "items": {"type": "array", "description": "d", "items": True}}[place]
    for twin in ("", "english_"):
        nodes = [node for nodes in record.get(f"{twin}answer_list", ()) for node in nodes]
        if gold := next((node["action"] for node in nodes if node["action"]["name"] not in PSEUDO), None):
            tools = [one["function"] for one in record[f"{twin}tools"]]
            next(one for one in tools if one["name"] == gold["name"])["parameters"]["properties"]["area"] = area
            gold["arguments"]["area"] = [1, "a"]
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize("place", ["property", "items"])
def test_sessions_with_boolean_schemas_are_checked_and_reached(place: str, tmp_path: Path) -> None:
    (tmp_path / "Wild-Tool-Bench.jsonl").write_bytes(session(place))
    problems, strange = WildData().check(tmp_path)
    assert problems == []
    assert any("which is a schema, but the published evaluator stops on it" in text for text in strange)


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_lines_end_at_line_feeds_alone(tmp_path: Path, start: str) -> None:
    listed = [[tool({"a": {"type": "string", "description": "one\u2028two\x85three\u2029"}})], []]
    lines = "".join(json.dumps(tools, ensure_ascii=False) + "\n" for tools in listed)
    (tmp_path / "tools.jsonl").write_text(start + lines, encoding="utf-8")
    assert list(read_tool_lists(tmp_path / "tools.jsonl")) == listed
