"""The transcript of a case: as steps of an Allure result with their own times, and as readable text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgauge.core.reply_ends import is_cut, limit_words
from agentgauge.core.types import Event
from agentgauge_reports.safe_text import clean, cut, line

ROOMS = (200, 80, 40)
"""Characters of an argument or a reply that a step shows: the first of these with which all steps fit."""


def steps(events: Sequence[Event], limit: int) -> list[dict[str, Any]]:
    """Allure's steps, one for each exchange, in about ``limit`` bytes; those that do not fit are counted."""
    shown: list[dict[str, Any]] = []
    sizes: list[int] = []
    for room in ROOMS:
        shown = [_step(event, room) for event in events]
        sizes = [len(json.dumps(step, ensure_ascii=False).encode("utf-8", "replace")) for step in shown]
        if sum(sizes) <= limit:
            return shown
    while len(sizes) > 1 and sum(sizes) > limit:
        sizes.pop()
    if rest := events[len(sizes) :]:
        more = f"… {len(rest)} more: see the transcript"
        shown[len(sizes) :] = [
            {"name": more, "status": "passed", "start": milliseconds(rest[0].start), "stop": _end(rest[-1])}
        ]
    return shown


def _step(event: Event, room: int) -> dict[str, Any]:
    detail = event.detail
    if event.kind == "model":
        who = str(detail.get("role", "model")).removeprefix("--")
        title, shown = f"{who}: {_reply_line(detail)}", {"reply": reply} if (reply := detail.get("reply")) else {}
        shown |= {f"call {call['name']}": call["arguments"] for call in detail.get("tool_calls", ())}
    else:
        title = f"tool: {event.name}{' (cached)' if 'cached' in detail else ''}"
        shown = dict(detail.get("arguments") or {})
        shown |= {f"result {number}": output["content"] for number, output in enumerate(detail.get("result", ()), 1)}
    step: dict[str, Any] = {"name": line(title, 80), "status": "broken" if event.error else "passed"}
    if event.error:
        step["statusDetails"] = {"message": cut(event.error, 5 * room)}
    if shown:
        step["parameters"] = [
            {"name": line(name, 60), "value": line(_text(value), room)} for name, value in shown.items()
        ]
    return step | {"start": milliseconds(event.start), "stop": _end(event)}


def _reply_line(detail: Mapping[str, Any]) -> str:
    calls = [call["name"] for call in detail.get("tool_calls", ())]
    return ", ".join(calls) or (detail.get("reply") or "").strip().split("\n", 1)[0] or "(empty)"


def transcript(events: Sequence[Event], limit: int) -> str:
    """Messages, replies, calls and their results in order, in at most about ``limit`` bytes: every part is cut alike.

    Replies and results that a request repeats are shown once.
    """
    parts = list(_parts(events))
    each = limit
    while parts and sum(min(len(body), each) for _, body in parts) > limit and each > 100:
        each = each * 3 // 4
    return cut("\n\n".join(f"── {head}\n{cut(body, each)}" for head, body in parts), limit)


def _parts(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    has_result = False  # whether a tool's result was shown since the last request
    for event in events:
        detail = event.detail
        cached = f", cached instead of {detail['cached']:.2f} s" if "cached" in detail else ""
        seconds = f"({event.seconds:.2f} s{cached})"
        if event.kind == "tool":
            has_result = True
            results = [_text(output["content"]) for output in detail.get("result", ())]
            arguments = _text(detail.get("arguments") or {})
            yield f"tool {clean(event.name)} {seconds}", "\n".join([arguments, *(f"→ {result}" for result in results)])
        else:
            for message in detail.get("messages", ()):
                if message["role"] in ("system", "user") or (message["role"] == "tool" and not has_result):
                    yield clean(message["role"]), _text(message.get("content") or "")
            has_result = False
            calls = [f"→ {call['name']}({call['arguments']})" for call in detail.get("tool_calls", ())]
            yield (
                f"{clean(event.name)} {seconds}{_cut_words(detail)}",
                "\n".join([*filter(None, [detail.get("reply")]), *calls]) or "(empty)",
            )
        if event.error:
            yield "error", event.error


def _cut_words(detail: Mapping[str, Any]) -> str:
    """That a reply was cut, and where; empty for another."""
    if not is_cut(str(detail.get("finish_reason", ""))):
        return ""
    return f", cut at {limit_words(detail.get('max_tokens'))}"


def _text(value: Any) -> str:
    """A message's content, an argument or a result; of pictures that a message holds only that they are there."""
    if isinstance(value, list) and all(isinstance(part, dict) and "type" in part for part in value):
        return "\n".join(str(part.get("text") or f"[{part['type']}]") for part in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _end(event: Event) -> int:
    return milliseconds(event.start + event.seconds)
