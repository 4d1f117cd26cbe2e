"""An agent's own transcript in ATIF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.conversation import conversation

from agentgauge.run.external_agent.trajectory import read_trajectory

from .agents import NAME, solve

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
