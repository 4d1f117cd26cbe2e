"""The messages of a running task as a dialogue of the first release, for the requests of its model families."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from agentgauge.agent.dialects.format import ParsedCall
from agentgauge.agent.dialects.published import Dialogue, Language, Told
from agentgauge.core.chat import Message
from bench_wild.data import Session, WildTask
from bench_wild.prompts import opening


def dialogue_of(
    session: Session, running: WildTask, messages: Sequence[Message], begun: int, written: Sequence[str]
) -> Dialogue:
    """``messages``: those of the running task with every result as JSON. The first ``begun`` of them began it;
    ``written`` is what the model wrote since."""
    language: Language = "zh" if session.language == "zh" else "en"
    texts = iter(written)
    others = messages[1:]  # without the system message, which is the date
    history = tuple(_told(others[: begun - 2]))
    task = tuple(_told(others[begun - 2 :], texts))
    has_context = len(history) > len(running.before)
    return Dialogue(history, task, running.env_info, language, _opened(session, running, len(history), has_context))


def _opened(session: Session, running: WildTask, told: int, has_context: bool) -> tuple[int, str]:
    """The turn with the first words that are those of a task, and its date. Of an earlier task with messages before
    its words the history has only the first of these messages."""
    for task in session.tasks[: running.position] if has_context else ():
        if not task.before:
            return sum(one["role"] != "tool" for one in opening(session, task)) - 2, task.env_info
    return told, running.env_info


def _told(messages: Sequence[Message], written: Iterator[str] | None = None) -> Iterator[Told]:
    for place, message in enumerate(messages):
        role: Literal["user", "assistant"] = "user" if message["role"] == "user" else "assistant"
        functions = [call["function"] for call in message.get("tool_calls") or ()]
        if message["role"] != "tool":
            yield Told(
                role,
                message["content"] or "",
                tuple(ParsedCall(one["name"], one["arguments"]) for one in functions),
                tuple(json.loads(one["content"]) for one in messages[place + 1 : place + 1 + len(functions)]),
                next(written) if written and role == "assistant" else None,
            )
