"""What a request repeats of earlier replies is told once, on the page and in other formats."""

from __future__ import annotations

import time

import pytest
from agentgauge_reports.conversation import conversation
from agentgauge_reports.page.transcript import transcript

from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Event, Record, Transcript
from tests.plugin.toy import Toy

THOUGHT = "Thought: That is easy.\nFinal Answer: 42"


class NoFiles:
    def links(self, task, texts):
        return {}


def requests(reply, again, role="", calls=()):
    """Two requests; the second one begins with an assistant's message."""
    asked = [{"role": "user", "content": "6 * 7?"}]
    then = [again | {"role": "assistant"}, {"role": "user", "content": "Sure?"}]
    return [
        Event("model", "m", 0, 0.1, {"messages": asked, "reply": reply, "tool_calls": list(calls), "role": role}),
        Event("model", "m", 0, 0.1, {"messages": then, "reply": "Yes.", "tool_calls": []}),
    ]


def called(arguments):
    return {"name": "Add", "arguments": arguments}


@pytest.mark.parametrize(
    ("events", "given"),
    [
        (requests("42", {"content": "42\n"}), 0),
        (requests(THOUGHT, {"content": "Final Answer:42"}), 0),
        (requests(THOUGHT, {"content": "Final Answer:43"}), 1),
        (requests("It is 42", {"content": "42"}), 1),
        (requests(THOUGHT, {"content": ""}), 1),
        (requests("42", {"content": "42"}, role="--judge"), 1),
        (
            requests(
                "", {"content": None, "tool_calls": [{"function": called('{"a":1}')}]}, calls=[called('{"a": 1}')]
            ),
            0,
        ),
        (
            requests(
                "", {"content": None, "tool_calls": [{"function": called('{"a":2}')}]}, calls=[called('{"a": 1}')]
            ),
            1,
        ),
    ],
    ids=["the same", "its end", "another end", "gold", "nothing", "of another model", "the same call", "another call"],
)
def test_what_is_repeated_is_left_out_and_what_is_given_is_kept(monkeypatch, events, given):
    monkeypatch.setitem(known_tasks(), Toy.name, Toy())
    said = conversation(events)
    assert [message.role for message in said] == ["user", *["assistant"] * (1 + given), "user", "assistant"]
    record = Record("toy.say", "s", 1, "c", "passed", Transcript(None, tuple(events)))
    steps = transcript(record, NoFiles(), "parity")[0]["steps"]
    assert [step.get("role", "model") for step in steps if step["is"] == "message"] == (
        ["user", *["assistant"] * given, "user"]
    )


def test_many_turns_are_told_in_a_moment():
    talk = [
        Event("model", "m", 0, 0, {"messages": [{"role": "assistant", "content": str(turn - 1)}], "reply": str(turn)})
        for turn in range(20_000)
    ]
    start = time.monotonic()
    assert len(conversation(talk)) == 20_001
    assert time.monotonic() - start < 10
