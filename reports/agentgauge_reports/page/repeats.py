"""Finds the earlier replies that a request repeats, and messages that a benchmark wrote in the model's name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from agentgauge.agent.model_json import read_json
from agentgauge.agent.react import FINISH
from agentgauge.core.types import Json

Reply = TypeVar("Reply")
_Said = tuple[str, str]


class Replies(Generic[Reply]):
    """Replies of a case, found again by their text and by the model's role."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[_Said, Reply]] = {}  # by role
        self._all: dict[tuple[str, _Said], Reply] = {}

    def add(self, role: str, detail: Mapping[str, Any], reply: Reply) -> None:
        """``detail``: of the event. ``role``: empty for the tested model."""
        key = _said(detail["reply"] or detail.get("refusal"), detail.get("tool_calls"))
        self._latest[role] = key, reply
        self._all[role, key] = reply

    def repeated(self, role: str, message: Mapping[str, Any]) -> Reply | None:
        """The latest reply that an assistant's message of a request repeats. None for a message that is given.

        ReAct repeats a final answer without the thoughts before it.
        """
        key = _said(message.get("content"), message.get("tool_calls"))
        if (found := self._all.get((role, key))) is not None:
            return found
        (text, calls), latest = self._latest.get(role, (("", ""), None))
        ends = key[0].startswith(_squeezed(FINISH)) and text.endswith(key[0])
        return latest if ends and calls == key[1] else None


def _said(content: Json, calls: Any) -> _Said:
    """What makes two replies the same: the text without blanks, and names and arguments of the calls."""
    text = content if isinstance(content, str) else json.dumps(content) if content else ""
    functions = [call.get("function") or call for call in calls or ()]
    made = [[function.get("name"), _read(function.get("arguments"))] for function in functions]
    return _squeezed(text), json.dumps(made, sort_keys=True)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _read(arguments: Json) -> Json:
    try:
        return read_json(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
