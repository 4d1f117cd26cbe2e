"""The transcript of a case as one conversation, and the expected answer beside it: for the page, and for the formats of
other programs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from agentgauge.agent.model_json import read_json
from agentgauge.agent.react import FINISH
from agentgauge.core.chat import CaseKey, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.presentation import InWords, no_words
from agentgauge.core.task import Task
from agentgauge.core.types import Event, Json, Record
from agentgauge.data.find import find_used_data, refuse_other_data
from agentgauge.store import RunFolder
from agentgauge_reports.load import Run

# -- replies that a request repeats

AnyReply = TypeVar("AnyReply")
_ContentKey = tuple[str, str]


class Replies(Generic[AnyReply]):
    """Replies of a case, found again by their text and by the model's role."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[_ContentKey, AnyReply]] = {}  # by role
        self._all: dict[tuple[str, _ContentKey], AnyReply] = {}

    def add(self, role: str, detail: Mapping[str, Any], reply: AnyReply) -> None:
        """``detail``: of the event. ``role``: empty for the tested model."""
        key = _content_key(detail["reply"] or detail.get("refusal"), detail.get("tool_calls"))
        self._latest[role] = key, reply
        self._all[role, key] = reply

    def repeated(self, role: str, message: Mapping[str, Any]) -> AnyReply | None:
        """The latest reply that an assistant's message of a request repeats. None for a message that is given.

        ReAct repeats a final answer without the thoughts before it.
        """
        key = _content_key(message.get("content"), message.get("tool_calls"))
        if (found := self._all.get((role, key))) is not None:
            return found
        (text, calls), latest = self._latest.get(role, (("", ""), None))
        ends = key[0].startswith(_squeezed(FINISH)) and text.endswith(key[0])
        return latest if ends and calls == key[1] else None


def _content_key(content: Json, calls: Any) -> _ContentKey:
    """What makes two replies the same: the text without blanks, and names and arguments of the calls."""
    text = content if isinstance(content, str) else json.dumps(content) if content else ""
    functions = [call.get("function") or call for call in calls or ()]
    made = [[function.get("name"), _parsed(function.get("arguments"))] for function in functions]
    return _squeezed(text), json.dumps(made, sort_keys=True)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _parsed(arguments: Json) -> Json:
    try:
        return read_json(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


# -- the conversation

ROLES = ("system", "user", "assistant", "tool")


@dataclass(slots=True)
class MessageCall:
    """A call that a model asked for. ``problem``: why ``arguments`` could not be parsed and holds the text as ``raw``;
    else empty.
    """

    id: str
    name: str
    arguments: dict[str, Json]
    problem: str = ""


@dataclass(slots=True)
class ConversationMessage:
    """A message of a request, or a model's reply."""

    role: str  # of ROLES
    text: str  # parts that are no text are named by their kind
    calls: list[MessageCall] = field(default_factory=list)
    call_id: str = ""  # of a tool's result: the call that it answers
    tool: str = ""  # of a tool's result: the tool, where it is known
    model: str = ""  # of a reply: the model. Empty for a message in the model's name, such as the gold of earlier steps
    asked_as: str = ""  # of a reply, and of a request's messages: the role of a model other than the tested one
    reasoning: str = ""
    finish_reason: str = ""  # of a reply, as received; empty where it is not known
    start: float = 0.0  # of a reply, seconds since the epoch


def conversation(events: Iterable[Event]) -> list[ConversationMessage]:
    """Requests and replies in their order. A request repeats the replies before it; these are left out, and give the
    replies the ids of their calls. A request that failed has no reply."""
    messages: list[ConversationMessage] = []
    names: dict[str, str] = {}  # of calls, by id
    replies: Replies[ConversationMessage] = Replies()
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


def last_reply(messages: Iterable[ConversationMessage]) -> str:
    """The last message of the tested model, with its calls as ``name(arguments)``; empty without a reply."""
    own = [message for message in messages if message.model and not message.asked_as]
    calls = [written(call.name, call.arguments) for call in own[-1].calls] if own else []
    return "\n".join(([own[-1].text] if own and own[-1].text else []) + calls)


def written(name: str, arguments: Json) -> str:
    """A call in one line."""
    return f"{name}({json.dumps(arguments, ensure_ascii=False)})"


def _message(message: Mapping[str, Json], asked_as: str) -> ConversationMessage:
    role = str(message.get("role"))
    calls = message.get("tool_calls") or ()
    return ConversationMessage(
        role if role in ROLES else "user",
        _text(message.get("content")),
        [
            _conversation_call(each["function"], str(each.get("id") or f"call_{number}"))
            for number, each in enumerate(calls)
        ],
        call_id=str(message.get("tool_call_id") or ""),
        tool=str(message.get("name") or ""),
        asked_as=asked_as,
    )


def _reply(event: Event, asked_as: str) -> ConversationMessage:
    detail = event.detail
    return ConversationMessage(
        "assistant",
        str(detail["reply"] or detail.get("refusal") or ""),
        [_conversation_call(each, f"call_{number}") for number, each in enumerate(detail.get("tool_calls") or ())],
        model=event.name,
        asked_as=asked_as,
        reasoning=str(detail.get("reasoning") or ""),
        finish_reason=str(detail.get("finish_reason") or ""),
        start=event.start,
    )


def _conversation_call(function: Mapping[str, Json], number: str) -> MessageCall:
    """Arguments that are not an object, or that JSON cannot hold, such as NaN, are kept as text."""
    arguments, problem = function.get("arguments"), "the arguments are not an object"
    try:
        read = read_json(arguments) if isinstance(arguments, str) else arguments
        json.dumps(read, allow_nan=False)
    except ValueError as error:
        read, problem = None, str(error)
    if isinstance(read, dict):
        return MessageCall(number, str(function.get("name")), read)
    return MessageCall(number, str(function.get("name")), {"raw": arguments}, problem)


def _text(content: Json) -> str:
    """A message's text; other parts are named by their kind."""
    if isinstance(content, list):
        return "\n".join(
            str(part.get("text") or f"[{part.get('type', 'part')}]") if isinstance(part, dict) else str(part)
            for part in content
        )
    return "" if content is None else str(content)


# -- the expected answer beside the actual one, from the layouts in which predictions hold their gold

GoldRow = dict[str, Any]
"""``{"step", "expected", "got"}``; the last two hold lists of ``{"name", "arguments"}`` or ``{"text"}``."""


def side_by_side(output: Json, in_words: InWords = no_words) -> list[GoldRow]:
    """Rows of calls and answers, in order. Empty for a prediction that does not hold its gold."""
    if not isinstance(output, Mapping):
        return []
    if "inference_log" in output:
        return list(_logged(output["inference_log"], in_words))
    gold, predicted = output.get("gold"), output.get("prediction")
    if not isinstance(gold, list) or not isinstance(predicted, list):
        return []
    if all(isinstance(turn, Mapping) for turn in gold):  # step by step: each turn was asked for by itself
        pairs = [(_acts([one]), _acts([two])) for one, two in zip(gold, [*predicted, *[{}] * len(gold)], strict=False)]
        return [_gold_row(number, expected, got) for number, (expected, got) in enumerate(pairs, 1)]
    return [
        _gold_row(number, *pair) for number, pair in enumerate(_aligned(_acts(_flat(gold)), _acts(_flat(predicted))), 1)
    ]


def _logged(log: Mapping[str, Json], in_words: InWords) -> Iterator[GoldRow]:
    """A log of steps, each with candidates of what is right and with what came."""
    for key in sorted(filter(re.compile(r"step_\d{1,6}").fullmatch, log), key=lambda key: int(key[5:])):
        step = log[key]
        answers = step.get("inference_answer")
        found = answers.values() if isinstance(answers, Mapping) else ()
        candidates = [each for each in found if isinstance(each, Mapping)]
        first = candidates[0] if candidates else {}
        expected = [
            {"text": words} if (words := in_words(action, first.get("observation"))) else _gold_call(action)
            for action in first.get("action") or ()
        ]
        row = _gold_row(
            int(key[5:]) + 1, expected, _acts([{**(step.get("inference_output") or {}), "role": "assistant"}])
        )
        yield row | ({"others": len(candidates) - 1} if len(candidates) > 1 else {})


def _acts(turns: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Any]]:
    """Calls and last words of an assistant's turns."""
    acts: list[Mapping[str, Any]] = []
    for turn in turns:
        if turn.get("role") != "assistant":
            continue
        calls = turn.get("tool_calls")
        calls = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
        acts += [_gold_call(call.get("function") or call) for call in calls]
        if not calls and (words := turn.get("content")):
            acts.append({"text": words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)})
    return acts


def _gold_call(call: Mapping[str, Json]) -> Mapping[str, Any]:
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError):  # else it is shown as the model wrote it
            arguments = read_json(arguments)
    return {"name": str(call.get("name")), "arguments": arguments}


def _aligned(gold: list[Mapping[str, Any]], came: list[Mapping[str, Any]]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs of acts with the same tool in the same order; what has no partner stands alone."""
    gold_names, came_names = ([str(act.get("name", "")) for act in acts] for acts in (gold, came))
    for _, i, j, k, m in SequenceMatcher(a=gold_names, b=came_names, autojunk=False).get_opcodes():
        for number in range(max(j - i, m - k)):
            one, two = i + number, k + number
            yield gold[one : min(one + 1, j)] if one < j else [], came[two : min(two + 1, m)] if two < m else []


def _flat(turns: Json) -> list[Mapping[str, Any]]:
    return [
        turn for part in turns for turn in (part if isinstance(part, list) else [part]) if isinstance(turn, Mapping)
    ]


def _gold_row(step: int, expected: Sequence[Any], got: Sequence[Any]) -> GoldRow:
    return {"step": step, "expected": list(expected), "got": list(got)}


# -- the expected answer of a case: from its record, else from the task's oracle and the data set


class Gold:
    """The gold of a run's cases. ``note``: a sentence on why the data set could not be read; else empty."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._indices: dict[str, tuple[Index, Mapping[str, Row]]] = {}
        self.note = ""

    @cached_property
    def _roots(self) -> Mapping[str, Path]:
        """Task → its data."""
        about, tasks = self._run.about, self._run.tasks
        try:
            roots, _ = find_used_data(tasks, about, Path.cwd())
            refuse_other_data(tasks, RunFolder(self._run.path), about, roots)
        except UsageProblem as problem:
            self.note = f"the gold of the data set is left out: {problem}"
            return {}
        return roots

    def of(self, record: Record) -> str:
        """The expected calls and answers, a line each; empty if they are not known."""
        output = record.transcript.output if record.transcript else None
        return "\n".join(_recorded(output)) or self._answered(record)

    def _answered(self, record: Record) -> str:
        """What the oracle answers to the last request to the tested model."""
        task = self._run.tasks.get(record.task)
        events = record.transcript.events if record.transcript else ()
        models = [event for event in events if event.kind == "model"]
        asked = [turn for turn, event in enumerate(models) if not event.detail.get("role")]
        if not (task and task.oracle) or not asked or record.task not in self._roots:
            return ""
        index, rows = self._index(task)
        if record.sample not in rows:
            return ""
        sample = task.data.load(index, rows[record.sample], record.task)
        messages = tuple(models[asked[-1]].detail.get("messages", ()))
        key = CaseKey(record.task, record.sample, record.attempt, asked[-1])
        reply = task.oracle(sample, ChatRequest(messages, case=key), one_call=False)
        calls = [f"{call.name}({call.arguments})" for call in reply.tool_calls]
        return "\n".join([reply.text] * bool(reply.text) + calls)

    def _index(self, task: Task) -> tuple[Index, Mapping[str, Row]]:
        if task.name not in self._indices:
            index = task.data.index(self._roots[task.name])
            self._indices[task.name] = index, {row.id: row for row in index.rows}
        return self._indices[task.name]


def _recorded(output: Any) -> Iterator[str]:
    for row in side_by_side(output):
        for act in row["expected"]:
            yield act["text"] if "text" in act else written(act["name"], act["arguments"])
