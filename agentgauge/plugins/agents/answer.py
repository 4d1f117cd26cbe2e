"""The answer of an agent: a file of JSON or of text, or the text that its program has printed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.chat import ChatReply, ToolCall
from agentgauge.core.text import parse_json
from agentgauge.model.wire import clean_all
from agentgauge.plugins.agents.deliveries import plain_file
from agentgauge.plugins.agents.printed import Printed
from agentgauge.sandbox import SandboxResult

ANSWER, TEXT, FINAL = "answer.json", "answer.txt", "final.txt"
MOST = 4 << 20
"""Bytes of an answer; a larger file does not count as one."""

MOST_CALLS = 1000
"""Calls that an answer may state."""


def read_answer(folder: Path, result: SandboxResult, printed: Printed | None = None) -> tuple[ChatReply, str]:
    """The answer, and its problem or an empty text. If the program failed, only the answer file counts, not its
    output; of one that was ended from outside only JSON, because a text may be cut off. ``printed``: the output as a
    preset reads it."""
    if (content := plain_file(folder / ANSWER, MOST)) is not None:
        return _read(ANSWER, content)
    if not result.ended_from_outside and (content := plain_file(folder / TEXT, MOST)) is not None:
        return _read(TEXT, content)
    text = result.stdout if printed is None else printed.text
    problem = printed.problem if printed and result.status in ("ok", "error") else ""
    if printed and not printed.ended and result.status == "ok":
        problem = problem or "it did not print what its preset expects; is it another version?"
    return text_reply(text if result.status == "ok" else ""), problem


def read_delivered(folder: Path) -> tuple[ChatReply, str]:
    """The answer that lies among outputs, and its problem or an empty text. Without a file, there is no text."""
    name = next((name for name in (ANSWER, TEXT, FINAL) if os.path.lexists(folder / name)), None)
    if name is None:
        return ChatReply(), ""
    if (content := plain_file(folder / name, MOST)) is None:
        return ChatReply(), f"its {name} is no plain file of at most {MOST >> 20} MiB"
    return _read(name, content)


def text_reply(text: str) -> ChatReply:
    """The answer of a text."""
    return ChatReply(text=_clean(text[:MOST]))


def _read(name: str, content: bytes) -> tuple[ChatReply, str]:
    if name != ANSWER:
        return text_reply(content.decode("utf-8", "replace")), ""
    try:
        return _message(parse_json(content)), ""
    except (ValueError, RecursionError) as error:
        return ChatReply(), f"its {ANSWER} is not an answer: {error}"


def _clean(text: str) -> str:
    cleaned: str = clean_all(text)
    return cleaned.strip()


def _message(data: Any) -> ChatReply:
    """An assistant message: ``content`` and ``tool_calls``, each OpenAI's or short, as name and arguments. Raises
    ValueError."""
    if not isinstance(data, Mapping) or not isinstance(content := data.get("content"), str | None):
        raise ValueError("it must be an object whose content is a text")
    calls = data.get("tool_calls")
    if not isinstance(calls, list | None):
        raise ValueError("tool_calls must be a list")
    if calls and len(calls) > MOST_CALLS:
        raise ValueError(f"it has {len(calls)} tool_calls, of which it may have {MOST_CALLS}")
    found = tuple(_call(call, place) for place, call in enumerate(calls or ()))
    return ChatReply(text=_clean(content or ""), tool_calls=found, finish_reason="tool_calls" if found else "stop")


def _call(call: Any, place: int) -> ToolCall:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name := function.get("name"), str):
        raise ValueError(f"tool_calls[{place}] names no function")
    arguments = function.get("arguments") or {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    given = call.get("id")
    identity = clean_all(given) if isinstance(given, str) and given else f"call_{place}"
    return ToolCall(_clean(name), clean_all(text), identity)
