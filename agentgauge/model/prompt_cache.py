"""Marks of Anthropic's prompt cache, in chat completions: each is the end of a part that the provider keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

MARK = {"cache_control": {"type": "ephemeral"}}


def with_marks(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Copies with a mark at the end of the system prompt, which the tools precede, and at the end of all messages.

    So cases of a task share the first part, and the requests of a case share all earlier messages.
    """
    leading = len(list(takewhile(lambda message: message.get("role") == "system", messages)))
    ends = {leading - 1, len(messages) - 1}
    return [_marked(message) if place in ends else dict(message) for place, message in enumerate(messages)]


def _marked(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
    if not isinstance(parts, list) or not parts or not isinstance(parts[-1], Mapping):
        return dict(message)  # nothing that could carry a mark
    return {**message, "content": [*parts[:-1], {**parts[-1], **MARK}]}
