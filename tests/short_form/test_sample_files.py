"""Samples of JSON Lines, JSON and CSV, with gold apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.short_form.sample_files import SampleFiles

ROWS = [{"id": "a", "q": "één", "level": "easy"}, {"id": "b", "q": "two,\nlines", "level": "hard"}]


def files(folder: Path, *names: str, gold: str = "", tags: tuple[str, ...] = (), id: str = "id") -> SampleFiles:
    apart = folder / gold if gold else None
    return SampleFiles("toy", [folder / name for name in names], gold=apart, tags=tags, id=id, whole=True)


def loaded(source: SampleFiles, root: Path) -> dict[str, dict]:
    index = source.index(root)
    return {row.id: dict(source.load(index, row, "toy").payload) for row in index.rows}


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.jsonl", lines(*ROWS)),
        ("rows.json", json.dumps(ROWS, indent=2, ensure_ascii=False)),
        ("rows.csv", 'id,q,level\na,één,easy\n\nb,"two,\nlines",hard\n'),
        ("rows.csv", '\ufeffid,q,level\r\na,één,easy\r\nb,"two,\nlines",hard'),
    ],
)
def test_each_kind_gives_the_same_samples(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    source = files(tmp_path, name, tags=("level",))
    assert loaded(source, tmp_path) == {row["id"]: row for row in ROWS}
    assert [row.tags for row in source.index(tmp_path).rows] == [("easy",), ("hard",)]
    assert source.find(tmp_path.parent) is None and source.find(tmp_path) == tmp_path


def test_a_cell_may_be_long_and_hold_any_sign(tmp_path: Path) -> None:
    text = "x" * 140_000 + "\u2028\x0b\x85\r"
    (tmp_path / "rows.csv").write_bytes(f'id,q\na,"{text}"\n'.encode())
    assert loaded(files(tmp_path, "rows.csv"), tmp_path) == {"a": {"id": "a", "q": text}}


def test_ids_are_keys_places_or_another_field(tmp_path: Path) -> None:
    (tmp_path / "object.json").write_text('{"x": {"q": 1}, "y": {"q": 2, "id": "z"}}')
    (tmp_path / "list.json").write_text('[{"q": 1, "name": 7}, {"q": 2, "name": 8}]')
    assert list(loaded(files(tmp_path, "object.json"), tmp_path)) == ["x", "z"]
    assert list(loaded(files(tmp_path, "list.json"), tmp_path)) == ["0", "1"]
    assert list(loaded(files(tmp_path, "list.json", id="name"), tmp_path)) == ["7", "8"]


def test_several_files_are_one_data_set_and_gold_is_a_field(tmp_path: Path) -> None:
    (tmp_path / "first.jsonl").write_text(lines({"q": 1}, {"q": 2}))
    (tmp_path / "more.jsonl").write_text(lines({"q": 3}))
    (tmp_path / "gold.json").write_text('{"2": "three", "0": "one", "1": {"a": 2}}')
    for _ in range(2):
        found = loaded(files(tmp_path, "first.jsonl", "more.jsonl", gold="gold.json"), tmp_path)
        assert [sample["gold"] for sample in found.values()] == ["one", {"a": 2}, "three"]
        found["1"]["gold"].clear()  # a case of its own
    (tmp_path / "gold.json").write_text('{"2": "drei", "0": "eins", "1": "zwei"}')
    found = loaded(files(tmp_path, "first.jsonl", "more.jsonl", gold="gold.json"), tmp_path)
    assert [sample["gold"] for sample in found.values()] == ["eins", "zwei", "drei"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.jsonl", "[1]\n", "toy: sample 1 is not an object with fields"),
        ("a.jsonl", lines({"id": 1}, {"id": 1}), "the id '1' occurs twice"),
        ("a.csv", "", "must begin with a line of column names"),
        ("a.csv", "id,id\n", "must begin with a line of column names that differ"),
        ("a.csv", "id,q\na\n", "is damaged after byte 5: a row has 1 instead of 2 cells"),
        ("a.csv", "id,q\ra,b\rc,d\r", "has lines that end in a carriage return alone; save it with"),
        ("a.json", '{"a": {"q": %s}}' % ("1" * 5000), "is damaged: it has a number of more than 4300 digits"),
        ("a.json", '{"a": %s' % ("[" * 90_000), "is damaged: it is nested too deep"),
        ("a.csv", 'id,q\na,"b\n', "is damaged after byte 5: unexpected end of data"),
        ("a.jsonl", lines({"level": {"x": 1}}), "level is .*; a field of keywords has a text or a list of texts"),
    ],
)
def test_damaged_data_is_told(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataProblem, match=sentence):
        files(tmp_path, name, tags=("level",)).index(tmp_path)


def test_gold_that_is_missing_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines({"id": "a"}, {"id": "b"}))
    (tmp_path / "gold.jsonl").write_text(lines({"id": "a"}))
    with pytest.raises(DataProblem, match=r"gold\.jsonl has no entry for the sample 'b'"):
        files(tmp_path, "a.jsonl", gold="gold.jsonl").index(tmp_path)


def test_files_of_two_kinds_and_elsewhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.jsonl", "b.json", "sub/c.jsonl"):
        (tmp_path / name).write_text("")
    with pytest.raises(UsageProblem, match=r"are of several kinds \(.json, .jsonl\)"):
        files(tmp_path, "a.jsonl", "b.json")
    with pytest.raises(UsageProblem, match=r"must lie in .*sub or below"):
        files(tmp_path, "sub/c.jsonl", "a.jsonl")
