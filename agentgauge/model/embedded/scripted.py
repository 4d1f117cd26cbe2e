"""``scripted:FILE``: a model whose replies are written down, for tests and demonstrations.

    {"replies": {"gta_atomic.e2e/12": ["first reply", {"tool_calls": [{"name": "OCR", "arguments": {"image":
    "a.png"}}]}],
                 "*": ["I do not know."]}}

A key is an fnmatch pattern for ``task/sample``; the first that fits is used. The list is indexed by the turn of the
case; its last reply repeats. A reply is a text, or an object with ``text``, ``tool_calls`` (arguments as an object or
as raw text), ``refusal`` and ``finish_reason``, or an object with ``message``: an assistant message that is sent as it
stands, however odd it is.

A request without a case, such as one that names none to ``serve-model``, gets the replies of the pattern ``*``. Its
turn is the number of assistant messages in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import parse_json, read_text, refuse_extremes


@dataclass(frozen=True, slots=True)
class ReplyScript:
    path: Path
    replies: tuple[tuple[str, tuple[ChatReply, ...]], ...]

    @staticmethod
    def load(path: Path) -> ReplyScript:
        """Read and check. Raises UsageProblem that says where the file is wrong."""
        try:
            data = parse_json(read_text(path))
            refuse_extremes(data)
        except OSError as error:
            raise UsageProblem(
                f"the script {path} cannot be read ({error.strerror}); give scripted:FILE an existing file"
            ) from None
        except ValueError as error:
            raise UsageProblem(f"the script {path} is not valid JSON: {error}; correct the file") from None
        table = data.get("replies") if isinstance(data, dict) and set(data) == {"replies"} else None
        if not isinstance(table, dict) or not table:
            raise UsageProblem(
                f'the script {path} must be {{"replies": {{PATTERN: [REPLY, ...]}}}} with at least one pattern'
            )
        rules = []
        for pattern, replies in table.items():
            if not isinstance(replies, list) or not replies:
                raise UsageProblem(f"the script {path}: {pattern!r} must have a list of at least one reply")
            rules.append((pattern, tuple(_reply(path, f"{pattern!r}[{n}]", reply) for n, reply in enumerate(replies))))
        return ReplyScript(path, tuple(rules))

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """The patterns that fit none of the cases."""
        known = list(names)
        return [pattern for pattern, _ in self.replies if not any(fnmatchcase(name, pattern) for name in known)]

    def answer(self, request: ChatRequest) -> ChatReply:
        """The reply for a turn of a case. Raises UsageProblem when no pattern fits."""
        case = request.case or _turn_of(request)
        name = f"{case.task}/{case.sample}"
        for pattern, replies in self.replies:
            if fnmatchcase(name, pattern):
                return replies[min(case.turn, len(replies) - 1)]
        raise UsageProblem(f'the script {self.path} has no pattern for {name}; add one, or "*" for the rest')


def _turn_of(request: ChatRequest) -> CaseKey:
    """The case of a request that names none: the turn is the number of replies that the conversation holds."""
    return CaseKey("", "", 0, sum(message.get("role") == "assistant" for message in request.messages))


def _reply(path: Path, where: str, data: Any) -> ChatReply:
    if isinstance(data, str):
        return ChatReply(text=data)
    if isinstance(data, dict) and set(data) == {"message"} and isinstance(data["message"], dict):
        return ChatReply(received=data["message"])
    if not isinstance(data, dict) or not data or set(data) - {"text", "tool_calls", "refusal", "finish_reason"}:
        raise UsageProblem(
            f"the script {path}: {where} must be a string, an object with text, tool_calls, refusal or finish_reason,"
            " or one with a message as an object"
        )
    text, refusal, calls = data.get("text") or "", data.get("refusal"), data.get("tool_calls") or []
    finish = data.get("finish_reason", "tool_calls" if calls else "stop")
    texts = isinstance(text, str) and isinstance(refusal, str | None) and isinstance(finish, str)
    if not texts or not isinstance(calls, list):
        raise UsageProblem(
            f"the script {path}: {where} must have a text as text, refusal and finish_reason, and a list as tool_calls"
        )
    return ChatReply(
        text=text,
        tool_calls=tuple(_call(path, f"{where}.tool_calls[{n}]", call) for n, call in enumerate(calls)),
        refusal=refusal,
        finish_reason=finish,
    )


def _call(path: Path, where: str, data: Any) -> ToolCall:
    if not isinstance(data, dict) or set(data) != {"name", "arguments"} or not isinstance(data["name"], str):
        raise UsageProblem(f"the script {path}: {where} must be an object with a name and arguments")
    arguments = data["arguments"]
    return ToolCall(
        data["name"], arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    )
