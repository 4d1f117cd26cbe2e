"""The data file can be made again, and its twins are of one mould."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_wild.labels import SUBTYPES, TYPES
from bundled_data.wild.build import FILE, build, records
from bundled_data.wild.sessions import TALKS
from bundled_data.wild.words import ASK, Action, Talk, Turn, in_language, t
from tests.every import every

ROOT = Path(__file__).parents[2]
STORED = ROOT / "bench_wild" / "mini" / FILE
RECORDS = records()

every_record = every("record", RECORDS, ids=[talk.domain for talk in TALKS])


def test_the_stored_file_is_what_the_build_writes(tmp_path: Path) -> None:
    assert build(tmp_path / "new").read_bytes() == STORED.read_bytes()


def test_the_command_writes_the_same_whatever_the_hash_seed_and_locale(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bundled_data.wild", str(tmp_path)]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"built {tmp_path / FILE}"
    assert (tmp_path / FILE).read_bytes() == STORED.read_bytes()


# -- notation


@pytest.mark.parametrize(
    ("value", "english", "chinese"),
    [
        (t("a", "b"), "a", "b"),
        ({"x": [t("a", "b"), 1.0]}, {"x": ["a", 1.0]}, {"x": ["b", 1.0]}),
        ((t({"y": t("a", "b")}, []),), [{"y": "a"}], [[]]),
        ({t("k", "键"): None}, {"k": None}, {"键": None}),
        (True, True, True),
    ],
)
def test_in_language(value: Any, english: Any, chinese: Any) -> None:
    assert in_language(value, "en") == english
    assert in_language(value, "zh") == chinese


def test_no_text_is_of_one_language_only() -> None:
    """What a person says or reads is a Twin everywhere: no forgotten translation."""
    alone = [
        f"{talk.domain}: {said!r}"
        for talk in TALKS
        for turn in talk.turns
        for said in _said(turn)
        if isinstance(said, str) and " " in said
    ]
    assert not alone


def _said(turn: Turn) -> Iterator[Any]:
    yield turn.says
    yield turn.actions[-1].observation
    for action in turn.actions:
        if action.name == ASK:
            yield action.observation
            yield action.reply


# -- twins


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "a text" if isinstance(value, str) else value


@every_record
@pytest.mark.parametrize("field", ["tasks", "tools", "answer_list", "task_types", "turn_subtypes"])
def test_twins_have_one_shape(record: dict[str, Any], field: str) -> None:
    assert shape(record[field]) == shape(record[f"english_{field}"])


@every_record
def test_twins_name_the_same_things(record: dict[str, Any]) -> None:
    """Tools, actions, dates and labels."""
    assert [one["function"]["name"] for one in record["tools"]] == [
        one["function"]["name"] for one in record["english_tools"]
    ]
    for chinese, english in zip(record["answer_list"], record["english_answer_list"], strict=True):
        assert [node["action"]["name"] for node in chinese] == [node["action"]["name"] for node in english]
        assert [_of_pseudo(node) for node in chinese] == [_of_pseudo(node) for node in english]
    assert [TYPES[label] for label in record["task_types"]] == record["english_task_types"]
    assert [SUBTYPES[label] for label in record["turn_subtypes"]] == record["english_turn_subtypes"]
    assert record["env_info"].rpartition(" ")[0] == record["english_env_info"].rpartition(" ")[0]


def _of_pseudo(node: dict[str, Any]) -> Any:
    return node["action"]["arguments"] if "tool_name" in node["action"]["arguments"] else None


@every_record
def test_each_twin_speaks_its_language(record: dict[str, Any]) -> None:
    for chinese, english in zip(record["tasks"], record["english_tasks"], strict=True):
        assert any("\u4e00" <= sign <= "\u9fa5" for sign in chinese)
        assert not any("\u4e00" <= sign <= "\u9fa5" for sign in english)
    assert not any("\u4e00" <= sign <= "\u9fa5" for sign in json.dumps(record["english_tools"], ensure_ascii=False))
    answers = json.dumps(record["english_answer_list"], ensure_ascii=False)
    assert not any("\u4e00" <= sign <= "\u9fa5" for sign in answers)


def test_a_weekday_follows_from_its_date() -> None:
    assert RECORDS[0]["english_env_info"] == "2025-03-11 16:20:07 Tuesday"
    assert RECORDS[0]["env_info"] == "2025-03-11 16:20:07 星期二"


def test_the_closing_action_waits_for_all_leaves() -> None:
    bakery = next(talk for talk in TALKS if talk.domain == "bakery")
    assert bakery.turns[0].actions[-1].after == (0, 1, 2)
    assert bakery.turns[1].actions == (
        Action("prepare_to_answer", {"answer_type": "chat"}, bakery.turns[1].actions[0].observation),
    )


def test_sessions_are_of_different_domains() -> None:
    domains: list[str] = [talk.domain for talk in TALKS if isinstance(talk, Talk)]
    assert len(domains) == len(set(domains)) >= 12
