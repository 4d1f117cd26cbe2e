"""The generator as a whole, with a scripted model in every part: each sequence of task types, over bundled and
published tool lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_wild.generate.command import main
from bench_wild.generate.texts import all_sequences, tool_lists
from bench_wild.generate.transcript import (
    DIALOGUES,
    LANGUAGES,
    TYPES,
    is_switch,
    kept_messages,
    read_dialogues,
    speaker,
)
from tests.wild.generate.player import ClumsyModel

pytestmark = pytest.mark.slow

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "wild_tools"


@pytest.mark.parametrize(
    ("language", "length", "lists"),
    [
        ("en", 2, "published"),
        ("en", 3, "bundled"),
        pytest.param("en", 4, "bundled", marks=pytest.mark.faults),
        ("zh", 2, "bundled"),
        ("zh", 3, "published"),
        *(pytest.param(language, 4, "published", marks=pytest.mark.faults) for language in LANGUAGES),
    ],
)
def test_every_sequence_is_covered_by_one_dialogue_each(
    language: str, length: int, lists: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [
        "wild",
        "--out",
        str(tmp_path / "out"),
        "--model",
        "p",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "--language",
        language,
    ]
    argv += ["--layer-num-total", str(length)]
    file = PUBLISHED / f"tools_{language}.jsonl" if lists == "published" else None
    if file and not file.is_file():
        file = None  # the bundled ones again
    assert main([*argv, "--tools", str(file)] if file else argv, ClumsyModel) == 0
    assert f"{4**length} of {4**length} sequences are covered" in capsys.readouterr().out
    known = tool_lists(file, language)  # type: ignore[arg-type]
    dialogues = list(read_dialogues(tmp_path / "out" / DIALOGUES))
    assert [dialogue.sequence for dialogue in dialogues] == all_sequences(length)
    for dialogue in dialogues:
        assert dialogue.language == language
        assert [turn.type for turn in dialogue.turns] == list(dialogue.sequence)
        assert dialogue.tools[:-2] in known
        edges = [0, *(turn.end for turn in dialogue.turns)]
        assert [turn.start for turn in dialogue.turns] == edges[:-1] and edges[-1] == len(dialogue.messages)
        kept, ranges = kept_messages(dialogue)
        assert all(speaker(message["content"]) in ("user", "planner", "tool", "agent") for message in kept)
        for turn, (start, end) in zip(dialogue.turns, ranges, strict=True):
            said = [speaker(message["content"]) for message in kept[start:end]]
            assert said[0] == "user" and said[-1] == "agent" and said[1] == "planner"
            assert ("tool" in said) == (turn.type != "CC")
    refused = [
        message for dialogue in dialogues for message in dialogue.messages if '"correct": "no"' in message["content"]
    ]
    assert refused, "a clumsy player is refused at times"
    assert {kind for dialogue in dialogues for kind in dialogue.sequence} == set(TYPES)


def test_the_three_files_hold_what_the_original_writes(tmp_path: Path) -> None:
    argv = [
        "wild",
        "--out",
        str(tmp_path / "out"),
        "--model",
        "p",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "--sequences",
        "ST-MT-CQ-CC",
    ]
    assert main(argv, ClumsyModel) == 0
    (dialogue,) = read_dialogues(tmp_path / "out" / DIALOGUES)
    files = {path.name[len("2026-01-01_00:00:00") :]: path for path in (tmp_path / "out").glob("*_train*.jsonl")}
    assert sorted(files) == ["_train.jsonl", "_train_fetch_data.jsonl", "_train_origin.jsonl"]
    (origin,) = map(json.loads, files["_train_origin.jsonl"].read_text("utf-8").splitlines())
    assert origin == {"tools": dialogue.tools, "env_info": dialogue.env_info, "messages": dialogue.messages}
    (clean,) = map(json.loads, files["_train.jsonl"].read_text("utf-8").splitlines())
    assert clean["messages"] == kept_messages(dialogue)[0]
    requests = [json.loads(line) for line in files["_train_fetch_data.jsonl"].read_text("utf-8").splitlines()]
    assert {request["task"] for request in requests} >= {
        "user_single_tool",
        "user_continue_question",
        "planner",
        "tool",
        "agent_answer",
    }
    for request in requests:
        assert list(request) == ["task", "tools", "env_info", "messages", "answer"]
        if len(request["messages"]) > 1:
            assert is_switch(request["messages"][-1]["content"])
            assert request["messages"][1:-1] == dialogue.messages[: len(request["messages"]) - 2]
    answers = [request["answer"] for request in requests if request["task"] in ("planner", "tool")]
    assert answers == [
        message["content"] for message in clean["messages"] if speaker(message["content"]) in ("planner", "tool")
    ]
