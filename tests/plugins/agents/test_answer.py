"""What an agent program leaves: its answer, its files, its trajectory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.conversation import conversation

from agentgauge.core.chat import ToolCall
from agentgauge.plugins.agents.answer import MOST, read_answer
from agentgauge.plugins.agents.deliveries import files_below, take_files
from agentgauge.plugins.agents.trajectory import read_trajectory
from agentgauge.sandbox import SandboxResult

from .agents import NAME, solve


def ended(stdout: str = "", status: str = "ok") -> SandboxResult:
    return SandboxResult(status, "", stdout, "", 0, 1.0, ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "stdout", "status", "text"),
    [
        ({}, " 42\n", "ok", "42"),
        ({}, "half a th", "timeout", ""),  # what a program printed that did not end well is not an answer
        ({"answer.txt": "from the file\n"}, "chatter", "ok", "from the file"),
        ({"answer.txt": "in time"}, "", "timeout", "in time"),
        ({"answer.json": '{"content": "best"}', "answer.txt": "second"}, "third", "ok", "best"),
        ({"answer.json": '{"role": "assistant", "content": null}'}, "chatter", "ok", ""),
    ],
)
def test_the_best_source_counts(files: dict[str, str], stdout: str, status: str, text: str, tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    reply, odd = read_answer(tmp_path, ended(stdout, status))
    assert (reply.text, odd) == (text, "")


def test_calls_are_read_in_both_forms(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(
        '{"content": null, "tool_calls": [{"id": "c7", "type": "function", "function": {"name": "add", "arguments":'
        ' "{\\"a\\": 1}"}}, {"name": "sub", "arguments": {"b": 2}}]}'
    )
    reply, _ = read_answer(tmp_path, ended())
    assert reply.tool_calls == (ToolCall("add", '{"a": 1}', "c7"), ToolCall("sub", '{"b": 2}', "call_1"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not an answer"),
        ("[]", "an object whose content is a text"),
        ('{"content": 7}', "an object whose content is a text"),
        ('{"tool_calls": {}}', "tool_calls must be a list"),
        ('{"tool_calls": [{"arguments": "{}"}]}', "tool_calls[0] names no function"),
        (json.dumps({"tool_calls": [{"name": "f"}] * 1001}), "it has 1001 tool_calls, of which it may have 1000"),
    ],
)
def test_a_broken_answer_is_told(content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(content)
    reply, odd = read_answer(tmp_path, ended("printed"))
    assert says in odd and not reply.text


def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"content": "of the host"}')
    (tmp_path / "answer.json").symlink_to(secret)
    os.mkfifo(tmp_path / "answer.txt")
    assert read_answer(tmp_path, ended("printed"))[0].text == "printed"


def test_a_folder_is_no_answer(tmp_path: Path) -> None:
    (tmp_path / "answer.json").mkdir()
    assert read_answer(tmp_path, ended("printed"))[0].text == "printed"


def test_all_texts_of_a_call_can_be_written(tmp_path: Path) -> None:
    odd = '"\\ud800"'
    call = f'{{"id": {odd}, "name": {odd}, "arguments": {{{odd}: {odd}}}}}'
    (tmp_path / "answer.json").write_text(f'{{"content": {odd}, "tool_calls": [{call}]}}')
    reply, _ = read_answer(tmp_path, ended())
    assert (reply.text, reply.tool_calls) == ("?", (ToolCall("?", '{"?": "?"}', "?"),))


def test_an_answer_that_is_too_large_is_none(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text('{"content": "' + "x" * MOST + '"}')
    assert read_answer(tmp_path, ended("printed"))[0].text == "printed"


def test_only_plain_files_are_delivered(tmp_path: Path) -> None:
    left, taken = tmp_path / "left", tmp_path / "taken"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "report.txt").write_text("done")
    (left / "link").symlink_to("/etc/passwd")
    (left / "folder").symlink_to("/etc")
    os.mkfifo(left / "pipe")
    (left / os.fsdecode(b"\xff.txt")).write_text("no name")
    take_files(files_below(left), taken)
    link = tmp_path / "gold"
    link.symlink_to(left)
    take_files(files_below(link), tmp_path / "of-a-link")
    assert not (tmp_path / "of-a-link").exists()
    assert [path.relative_to(taken).as_posix() for path in taken.rglob("*") if path.is_file()] == ["deep/report.txt"]


def test_a_large_file_is_delivered_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgauge.plugins.agents.deliveries._MOST_CLEANED", 4)
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "large").write_bytes(b"0123456789")
    take_files(files_below(tmp_path / "left"), tmp_path / "taken")
    assert (tmp_path / "taken" / "large").read_bytes() == b"0123456789"


def test_a_later_delivery_replaces_what_is_in_its_way(tmp_path: Path) -> None:
    """An agent is called for each user turn, and delivers into one folder of the case."""
    first, second, taken = (tmp_path / name for name in ("first", "second", "taken"))
    for folder, names in ((first, ("a", "b/c", "kept")), (second, ("a/b", "b"))):
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(folder.name)
        take_files(files_below(folder), taken)
    found = {path.relative_to(taken).as_posix(): path.read_text() for path in taken.rglob("*") if path.is_file()}
    assert found == {"a/b": "second", "b": "second", "kept": "first"}


# -- trajectories

STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "user", "message": "what is 1+2?"},
    {
        "step_id": 2,
        "source": "agent",
        "message": "I add.",
        "reasoning_content": "easy",
        "timestamp": "2026-01-02T03:04:05+00:00",
        "tool_calls": [{"tool_call_id": "c1", "function_name": "Add", "arguments": {"a": 1, "b": 2}}],
        "observation": {"results": [{"source_call_id": "c1", "content": "3"}]},
    },
    {"step_id": 3, "source": "agent", "message": [{"type": "text", "text": "It is 3."}], "model_name": "m2"},
]


def told(steps: Any = STEPS, **more: Any) -> bytes:
    return json.dumps({"schema_version": "ATIF-v1.7", "agent": {"model_name": "m1"}, "steps": steps, **more}).encode()


def test_steps_become_events() -> None:
    events = read_trajectory(told(), "mine")
    assert [(event.kind, event.name) for event in events] == [("model", "m1"), ("tool", "Add"), ("model", "m2")]
    assert events[0].start == 1767323045.0 and events[0].detail["reasoning"] == "easy"
    assert events[1].detail == {"arguments": {"a": 1, "b": 2}, "result": [{"type": "text", "content": "3"}]}
    said = conversation(events)
    assert [message.text for message in said] == ["what is 1+2?", "I add.", "3", "It is 3."]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "Expecting property name"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "its schema_version is not ATIF-v1"),
        (told(schema_version="ATIF-v9"), "its schema_version is not ATIF-v1"),
        (told(steps=[]), "steps must be a list of 1 to 2000"),
        (told(steps=[7]), "step 1 has no source"),
        (told(steps=[{"source": "agent", "tool_calls": [{}]}]), "step 1 has a tool call without a function_name"),
        (
            told(steps=[{"source": "agent", "tool_calls": [{"function_name": "f"}] * 10_001}]),
            "more than 10000 calls of tools",
        ),
        (told(steps=STEPS[:1]), "no step is the agent's"),
    ],
)
def test_what_is_no_trajectory(content: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_trajectory(content, "mine")


WRITES = "Path('trajectory.json').write_bytes(CONTENT)\nprint('done')"


def test_it_is_the_transcript_where_the_model_was_not_asked(tmp_path: Path) -> None:
    _, case = solve(WRITES.replace("CONTENT", repr(told())), tmp_path)
    assert len(case.events) == 3 and not case.usage.requests
    (tmp_path / "asked").mkdir()
    _, case = solve("ask('x')\n" + WRITES.replace("CONTENT", repr(told())), tmp_path / "asked")
    assert [event.detail["reply"] for event in case.events] == ["X"]


def test_a_broken_one_is_told_in_the_log(tmp_path: Path) -> None:
    answer, case = solve(WRITES.replace("CONTENT", "b'{}'"), tmp_path)
    assert answer.reply.text == "done" and not case.events
    log = (tmp_path / "logs" / NAME / "0-a1.log").read_text()
    assert "its trajectory.json is not used: its schema_version is not ATIF-v1" in log
