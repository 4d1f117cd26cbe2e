"""A data set is read once in a process, and each sample's JSON text is kept."""

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
from agentgauge.core.index import Entry, Index, build_index, line_entries, object_entries

described: list[str] = []


def describe(entry: Entry) -> tuple[str, Sequence[str]]:
    described.append(entry.key)
    return entry.key, ["tag"]


def build(file: Path) -> Index:
    described.clear()
    return build_index([file], object_entries, describe)


def read_back(index: Index) -> dict[str, Any]:
    return {row.id: json.loads(row.text) for row in index.rows}


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
def test_the_text_of_each_value_is_kept(text: str, tmp_path: Path) -> None:
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
    assert {entry.key: json.loads(entry.text) for entry in object_entries(file)} == data


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


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": 1}')
    before = build(file)
    file.write_text('{"8": 1}')
    os.utime(file, ns=(1, 1))  # same size: the time tells
    after = build(file)
    assert [row.id for row in after.rows] == ["8"]
    assert after.fingerprint != before.fingerprint


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_bytes('\ufeff{"é": 1}\n\n[2]\r\n"last"'.encode())
    assert [(entry.key, entry.value, entry.text.decode()) for entry in line_entries(file)] == [
        ("0", {"é": 1}, '{"é": 1}'),
        ("2", [2], "[2]"),
        ("3", "last", '"last"'),
    ]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{}\n{"a"\n')
    with pytest.raises(DataProblem, match="line 2"):
        list(line_entries(file))


def test_a_process_reads_a_data_set_once(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": {"a": 1}}')
    first = build(file)
    assert described == ["7"]
    assert build(file) == first
    assert described == []
    file.unlink()
    assert read_back(first) == {"7": {"a": 1}}


def test_the_key_says_what_is_read_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    file.write_text('{"7": {"a": 1}}')

    def tagged(tag: str) -> Index:
        def describe(entry: Entry) -> tuple[str, Sequence[str]]:
            described.append(tag)
            return entry.key, [tag]

        return build_index([file], object_entries, describe, key=tag)

    described.clear()
    found = [tagged(tag).rows[0] for tag in ("a", "b", "a")]
    assert [row.tags for row in found] == [("a",), ("b",), ("a",)]
    assert described == ["a", "b"]
    assert found[0].text is found[1].text


def test_a_process_keeps_no_more_data_sets_than_a_run_has(tmp_path: Path) -> None:
    for number in range(100):
        file = tmp_path / f"{number}.json"
        file.write_text("{}")
        build(file)
    assert len(index._known) == index._MOST


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "gold.jsonl"]
    for file in files:
        file.write_text(f'"{file.stem}1"\n"{file.stem}2"\n')
    found = build_index(files, line_entries, lambda entry: (entry.value, ()), parts=2)
    assert found.file == files[0]
    assert [(row.id, row.position, row.text) for row in found.rows] == [
        ("a1", 0, b'"a1"'),
        ("a2", 1, b'"a2"'),
        ("b1", 2, b'"b1"'),
        ("b2", 3, b'"b2"'),
    ]
    files[2].write_text('"another"\n')
    assert build_index(files, line_entries, lambda entry: (entry.value, ()), parts=2).fingerprint != found.fingerprint


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "d.json")
    with pytest.raises(DataProblem, match="is a pipe, and data is read more than once; save it as a file"):
        build(tmp_path / "d.json")
