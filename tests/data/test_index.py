"""The index finds every sample by its bytes, and its cache is never the reason for a failure."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.core import index
from agentgauge.core.errors import DataProblem
from agentgauge.core.index import Entry, Index, build_index, cache_folder, line_entries, object_entries


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


described: list[str] = []


def describe(entry: Entry) -> tuple[str, Sequence[str]]:
    described.append(entry.key)
    return entry.key, ["tag"]


def build(file: Path) -> Index:
    index._known.clear()  # each time as in a process of its own
    described.clear()
    return build_index([file], object_entries, describe, kind="test")


def read_back(index: Index) -> dict[str, Any]:
    return {row.id: json.loads(index.read(row)) for row in index.rows}


@pytest.mark.parametrize(
    "text",
    [
        '{"0": {"a": 1}, "1": [2]}',
        ' \n{\t"0" :\r\n {"é": "北京 🏞️"} ,\n"12": "x"}\n\n',
        '\ufeff{"0": {"b": "ü"}, "1": 5}',
        "{}",
        '{"0": "\\u00e9\\ud83c"}',
    ],
)
def test_values_are_found_by_their_bytes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text(text, encoding="utf-8")
    assert read_back(build(file)) == json.loads(text.removeprefix("\ufeff"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.dictionaries(st.text(), JSON, max_size=5), st.booleans(), st.sampled_from([None, 2]))
def test_any_object_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any], escaped: bool, indent: int | None
) -> None:
    file = tmp_path_factory.mktemp("any") / "d.json"
    file.write_bytes(json.dumps(data, ensure_ascii=escaped, indent=indent).encode("utf-8", "surrogatepass"))
    assert {entry.key: json.loads(file.read_bytes()[entry.start : entry.end]) for entry in object_entries(file)} == data


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[1]", "one JSON object"),
        (b"", "one JSON object"),
        (b'{"0": 1', "Expecting ','"),
        (b'{"0": 1,}', "damaged"),
        (b'{"0" 1}', "Expecting ':'"),
        (b"{0: 1}", "damaged"),
        (b'{"0": {"a": }}', "damaged"),
        (b'{"0": 1} x', "continues after"),
        (b'{"0": "\xff"}', "not UTF-8 text"),
        (b'{"0": 1, "0": 2}', "occurs twice"),
        (b'{"0": ' + b"[" * 200_000, "damaged"),
    ],
)
def test_damage_is_told_in_one_sentence(content: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_bytes(content)
    with pytest.raises(DataProblem, match=told) as problem:
        build(file)
    assert str(file) in str(problem.value) and "\n" not in str(problem.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="does not exist"):
        build(tmp_path / "nothing.json")


def test_the_second_process_reads_only_the_cache(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": {"a": 1}}')
    first = build(file)
    assert described == ["7"]
    assert build(file) == first
    assert described == []


def test_a_changed_file_is_indexed_anew(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": 1}')
    before = build(file)
    file.write_text('{"8": 1}')
    os.utime(file, ns=(1, 1))  # same size: the time tells
    after = build(file)
    assert [row.id for row in after.rows] == ["8"]
    assert after.fingerprint != before.fingerprint


@pytest.mark.parametrize("content", [b"", b"[]", b'{"rows": 3}', b'{"fingerprint": "x", "rows": [[1]]}', b"\xff\xfe"])
def test_a_broken_cache_is_rebuilt(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": 1}')
    build(file)
    (cached,) = cache_folder().iterdir()
    cached.write_bytes(content)
    assert [row.id for row in build(file).rows] == ["7"]
    assert described == ["7"]
    build(file)
    assert described == []


def test_a_cache_that_cannot_be_written_costs_only_time(own_cache: Path, tmp_path: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    file = tmp_path / "d.json"
    file.write_text('{"7": 1}')
    assert [row.id for row in build(file).rows] == ["7"]


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_bytes('\ufeff{"é": 1}\n\n[2]\r\n"last"'.encode())
    content = file.read_bytes()
    assert [(entry.key, entry.value, json.loads(content[entry.start : entry.end])) for entry in line_entries(file)] == [
        ("0", {"é": 1}, {"é": 1}),
        ("2", [2], [2]),
        ("3", "last", "last"),
    ]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{}\n{"a"\n')
    with pytest.raises(DataProblem, match="line 2"):
        list(line_entries(file))


def test_one_process_reads_an_index_once_until_the_data_changes(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": 1}')
    build(file)
    (cached,) = cache_folder().iterdir()
    cached.unlink()
    described.clear()
    assert [row.id for row in build_index([file], object_entries, describe, kind="test").rows] == ["7"]
    assert described == []
    file.write_text('{"81": 1}')
    assert [row.id for row in build_index([file], object_entries, describe, kind="test").rows] == ["81"]
