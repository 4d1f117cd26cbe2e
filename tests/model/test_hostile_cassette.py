"""Cassettes that are none, or that somebody has changed: one sentence, whatever they hold."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ReplayMiss, ToolError, ToolFault, UsageProblem
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import Usage
from agentgauge.model.cassette import RecordingModel, RecordingToolBox, ReplayModel, ReplayToolBox
from agentgauge.model.cassette_file import CassetteReader, CassetteWriter, create_cassette, recorded_settings
from tests.model.mutating import mutated, written
from tests.model.test_cassette import FakeBox, FakeModel

ASKED = ChatRequest(({"role": "user", "content": "Hi"},), case=CaseKey("wild", "1"))
REPLY = ChatReply(
    "text",
    (ToolCall("OCR", "{}", "c", {"function": {"x": 1}}),),
    None,
    "stop",
    Usage(1, 7, 3, 0.1),
    "hm",
    extra={"a": [1]},
)


def recorded(folder: Path) -> list[dict[str, Any]]:
    """The lines of a cassette with a reply, a list of tools and a result."""
    create_cassette(file := folder / "whole.jsonl", {})
    writer = CassetteWriter(file, {})
    box = RecordingToolBox(FakeBox(), writer)

    async def record() -> None:
        await RecordingModel(FakeModel([REPLY]), writer).complete(ASKED)
        await box.catalog()
        await box.call("Refuse", {"image": "x"}, folder=folder / "files", readable=[])

    with pytest.raises(ToolError):
        asyncio.run(record())
    return [json.loads(line) for line in file.read_text().splitlines()]


async def replayed(file: Path, folder: Path) -> list[Any]:
    try:
        reader = CassetteReader(file, {})
    except UsageProblem as problem:
        return [problem]
    box = ReplayToolBox(reader)
    found: list[Any] = []
    for act in (
        lambda: ReplayModel(reader, "m").complete(ASKED),
        box.catalog,
        lambda: box.call("Refuse", {"image": "x"}, folder=folder / "files", readable=[]),
    ):
        try:
            found.append(await act())
        except (ReplayMiss, ToolError, ToolFault) as problem:
            found.append(problem)
    return found


def test_no_changed_line_is_an_internal_error(tmp_path: Path) -> None:
    lines = recorded(tmp_path)
    lines[3]["outcome"] = {
        "outputs": [{"type": "image", "file": "a.png", "data": "AAAA"}, {"type": "text", "content": "7"}]
    }
    whole = asyncio.run(replayed(write(tmp_path, [json.dumps(line) for line in lines]), tmp_path))
    assert whole[0] == REPLY and whole[2] == (
        ToolOutput("image", str(tmp_path / "files/a.png")),
        ToolOutput("text", "7"),
    )
    for seed in range(600):
        chance = random.Random(seed)
        number = chance.choice((1, 1, 1, 2, 3))
        changed = [json.dumps(line) for line in lines]
        outcome = {**lines[number], "outcome": mutated(chance, lines[number]["outcome"])}
        changed[number] = written(outcome if chance.random() < 0.8 else mutated(chance, lines[number]))
        file = write(tmp_path, changed)
        for one in asyncio.run(replayed(file, tmp_path)):
            if isinstance(one, ReplayMiss | UsageProblem):
                assert "\n" not in str(one) and len(str(one)) < 500 and "http" not in str(one), (seed, one)
            if isinstance(one, ChatReply):
                assert 0 <= one.usage.prompt_tokens <= 1e12 and isinstance(one.message, dict), seed


def write(folder: Path, lines: list[str]) -> Path:
    (file := folder / "changed.jsonl").write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")
    return file


HEADERS = [
    ("[" * 100_000, "nested too deep"),
    ('{"cassette": 1, "settings": ' + '{"a":' * 500 + "1" + "}" * 501, "nested too deep"),
    ('{"cassette": 1, "settings": {"attempts": ' + "9" * 4299 + "}}", "a number of more than 300 digits"),
    ('{"cassette": 1, "settings": {"attempts": ' + "9" * 4301 + "}}", "a number of more than 4300 digits"),
    ('{"cassette": 1, "settings": [1]}', "this is not a cassette"),
    ("\ud800", "this is not a cassette"),
    ("", "this is not a cassette"),
]


@pytest.mark.parametrize(("header", "says"), HEADERS, ids=range(len(HEADERS)))
def test_what_is_no_header(header: str, says: str, tmp_path: Path) -> None:
    (file := tmp_path / "a.jsonl").write_text(header, "utf-8", "surrogatepass")
    with pytest.raises(UsageProblem, match=f"a.jsonl, line 1: .*{says}"):
        recorded_settings(file)


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, why in (
        (tmp_path / "pipe", "is a pipe"),
        (Path("/dev/zero"), "is a device"),
        (tmp_path, "Is a directory"),
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / "a\0b", "it has a NUL"),
    ):
        with pytest.raises(UsageProblem, match=why):
            recorded_settings(path)
        with pytest.raises(UsageProblem, match=why):
            create_cassette(path, {})


def test_a_tool_of_a_cassette_has_its_form(tmp_path: Path) -> None:
    assert (
        Tool("Draw", "draws", (Parameter("image", "image"),), (Parameter("image"),))
        == asyncio.run(replayed(write(tmp_path, [json.dumps(line) for line in recorded(tmp_path)]), tmp_path))[1][
            "Draw"
        ]
    )
