"""The transcript of a case as one conversation, from which the formats of other programs are made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentgauge.agent.model_json import read_json
from agentgauge.core.types import Event, Json
from agentgauge_reports.page.repeats import Replies

ROLES = ("system", "user", "assistant", "tool")


@dataclass(slots=True)
class Call:
    """A call that a model asked for. ``problem``: why ``arguments`` could not be parsed and holds the text as ``raw``;
    else empty.
    """

    id: str
    name: str
    arguments: dict[str, Json]
    problem: str = ""


@dataclass(slots=True)
class Message:
    """A message of a request, or a model's reply."""

    role: str  # of ROLES
    text: str  # parts that are no text are named by their kind
    calls: list[Call] = field(default_factory=list)
    call_id: str = ""  # of a tool's result: the call that it answers
    tool: str = ""  # of a tool's result: the tool, where it is known
    model: str = ""  # of a reply: the model. Empty for a message in the model's name, such as the gold of earlier steps
    asked_as: str = ""  # of a reply, and of a request's messages: the role of a model other than the tested one
    reasoning: str = ""
    finish_reason: str = ""  # of a reply, as received; empty where it is not known
    start: float = 0.0  # of a reply, seconds since the epoch


def conversation(events: Iterable[Event]) -> list[Message]:
    """Requests and replies in their order. A request repeats the replies before it; these are left out, and give the
    replies the ids of their calls. A request that failed has no reply."""
    messages: list[Message] = []
    names: dict[str, str] = {}  # of calls, by id
    replies: Replies[Message] = Replies()
    for event in events:
        if event.kind != "model":
            continue
        role = str(event.detail.get("role", "")).removeprefix("--")
        for each in event.detail.get("messages", ()):
            message = _message(each, role)
            names |= {call.id: call.name for call in message.calls}
            if message.role == "assistant" and (own := replies.repeated(role, each)):
                for call, repeated in zip(own.calls, message.calls, strict=True):
                    call.id = repeated.id or call.id
                continue
            if message.role == "tool":
                message.tool = names.get(message.call_id) or message.tool
            messages.append(message)
        if "reply" in event.detail:
            messages.append(_reply(event, role))
            replies.add(role, event.detail, messages[-1])
    return messages


def last_reply(messages: Iterable[Message]) -> str:
    """The last message of the tested model, with its calls as ``name(arguments)``; empty without a reply."""
    own = [message for message in messages if message.model and not message.asked_as]
    calls = [written(call.name, call.arguments) for call in own[-1].calls] if own else []
    return "\n".join(([own[-1].text] if own and own[-1].text else []) + calls)


def written(name: str, arguments: Json) -> str:
    """A call in one line."""
    return f"{name}({json.dumps(arguments, ensure_ascii=False)})"


def _message(message: Mapping[str, Json], asked_as: str) -> Message:
    role = str(message.get("role"))
    calls = message.get("tool_calls") or ()
    return Message(
        role if role in ROLES else "user",
        _text(message.get("content")),
        [_call(each["function"], str(each.get("id") or f"call_{number}")) for number, each in enumerate(calls)],
        call_id=str(message.get("tool_call_id") or ""),
        tool=str(message.get("name") or ""),
        asked_as=asked_as,
    )


def _reply(event: Event, asked_as: str) -> Message:
    detail = event.detail
    return Message(
        "assistant",
        str(detail["reply"] or detail.get("refusal") or ""),
        [_call(each, f"call_{number}") for number, each in enumerate(detail.get("tool_calls") or ())],
        model=event.name,
        asked_as=asked_as,
        reasoning=str(detail.get("reasoning") or ""),
        finish_reason=str(detail.get("finish_reason") or ""),
        start=event.start,
    )


def _call(function: Mapping[str, Json], number: str) -> Call:
    """Arguments that are not an object, or that JSON cannot hold, such as NaN, are kept as text."""
    arguments, problem = function.get("arguments"), "the arguments are not an object"
    try:
        read = read_json(arguments) if isinstance(arguments, str) else arguments
        json.dumps(read, allow_nan=False)
    except ValueError as error:
        read, problem = None, str(error)
    if isinstance(read, dict):
        return Call(number, str(function.get("name")), read)
    return Call(number, str(function.get("name")), {"raw": arguments}, problem)


def _text(content: Json) -> str:
    """A message's text; other parts are named by their kind."""
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text") or f"[{part.get('type', 'part')}]") if isinstance(part, dict) else str(part)
            for part in content
        )
    return "" if content is None else str(content)
