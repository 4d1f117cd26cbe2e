"""Solves one task: sends requests, compares the replies with the gold graph, and returns the recorded results, until
the task ends (docs/benchmarks/wild.md#inference).

Nothing is executed. A model's reply decides the next message only through the names of the tools that it called.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agentgauge.agent.dialect import ask as put
from agentgauge.agent.dialects.format import Published, RenderedRequest
from agentgauge.agent.dialects.registry import format_of
from agentgauge.agent.native import parse_reply
from agentgauge.core.agents import Agent, AgentTask
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, MadeId, Message, Sampling, completed
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Json
from bench_wild.data import GoldNode, Session, WildTask, resolve
from bench_wild.graph import Graph, GraphMatcher, Group
from bench_wild.labels import EMPTY, NOT_EXPECTED
from bench_wild.prompts import (
    ORIGINAL,
    HistoryError,
    Release,
    Sending,
    as_json,
    dialogue_of,
    observed,
    offered_tools,
    opening,
)

_T = TypeVar("_T")

FAILED = "Error during inference: "
"""The beginning of a failed session's result; the whole session is lost then."""

NATIVE: Mapping[Release, Sampling] = {"2026": Sampling(temperature=0.0), "2025": Sampling(temperature=0.1)}
"""The sampling of upstream's requests to models with calls of their own (docs/benchmarks/wild.md#requests)."""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A reply of the model in OpenAI's format, from any dialect."""

    content: Json  # a text, null, or whatever came instead
    tool_calls: Sequence[Mapping[str, Any]] | None  # as received; what a server left out of a call is null
    reasoning: str | None = None
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # what else goes back with the calls, as it came
    refused: str = ""  # why the request was not sent: the published server refused it


Ask = Callable[[Sequence[Message], Sequence[Mapping[str, Any]]], Coroutine[Any, Any, ModelAnswer]]
"""Sends messages and tools to a model."""


class _SessionError(Exception):
    """Upstream stops here and loses the session. ``str()`` is what its result then says."""


@dataclass(slots=True)
class _Log:
    """The result, as it grows."""

    result: Result
    matcher: GraphMatcher
    task: WildTask

    def asked(self, answer: ModelAnswer) -> dict[str, Any]:
        """A new step."""
        for name, value in (
            ("latency", answer.seconds),
            ("input_token_count", answer.prompt_tokens),
            ("output_token_count", answer.completion_tokens),
        ):
            self.result[name].append(value)
        output: dict[str, Any] = {
            "reasoning_content": answer.reasoning,
            "content": answer.content,
            "tool_calls": copy.deepcopy(answer.tool_calls),
        }
        if answer.extra.keys() - {"reasoning_content"}:
            output["extra"] = copy.deepcopy(dict(answer.extra))
        step: dict[str, Any] = {"inference_output": output}
        self.result["inference_log"][f"step_{self.matcher.step}"] = step
        return step

    def right(self, step: dict[str, Any], group: Group) -> None:
        step["inference_output"]["current_action_name_label"] = "correct"
        step["inference_answer"] = {_candidate(0): self._listed(group)}

    def wrong(self, step: dict[str, Any], reason: str, groups: Sequence[Group] = ()) -> None:
        step["inference_output"] |= {"current_action_name_label": "error", "error_reason": reason}
        if groups:
            step["inference_answer"] = {_candidate(place): self._listed(group) for place, group in enumerate(groups)}

    def _listed(self, group: Group) -> dict[str, Json]:
        nodes = in_order(self.task, group)
        listed: dict[str, Json] = {
            "action": [{"arguments": as_json(node.arguments), "name": node.name} for node in nodes]
        }
        if not nodes[0].is_tool:
            listed["observation"] = nodes[0].observation
            if nodes[0].is_ask:
                listed["user_input"] = nodes[0].user_input
        return listed


def _candidate(place: int) -> str:
    return f"candidate_{place}_answer_function_list"


def in_order(task: WildTask, group: Group) -> list[GoldNode]:
    """The actions of a group, sorted by name; equal names stay in the order of the annotation."""
    return sorted((task.answer_list[place] for place in group), key=lambda node: node.name)


async def solve(
    session: Session,
    task: WildTask,
    ask: Ask,
    *,
    sending: Sending = ORIGINAL,
    tolerant: bool = False,
    quoted: bool = False,
) -> Result | str:
    """Run one task; the outcome is a task result of the original layout, without each step's ``inference_input``.
    ``quoted``: results that are texts are JSON, too, as they are in the history.

    Where upstream stops and loses the whole session, the outcome is the text that it then has for a result; with
    ``tolerant`` such a reply is an action error instead.
    """
    try:
        return await _solve(session, task, ask, sending, tolerant, as_json if quoted else observed)
    except (HistoryError, _SessionError) as stop:
        return FAILED + (str(stop) if isinstance(stop, _SessionError) else "")


async def _solve(
    session: Session, task: WildTask, ask: Ask, sending: Sending, tolerant: bool, shown: Callable[[Json], str]
) -> Result:
    messages = opening(session, task, sending, tolerant=tolerant)
    tools = offered_tools(session, sending)
    graph = Graph(task.answer_list)
    log = _Log(_new_result(task, sending.release), GraphMatcher(graph), task)
    while True:
        answer = await ask(tuple(messages), tools)
        if sending.release == "2026" and isinstance(answer.tool_calls, int | float):  # upstream asks for their number
            raise _SessionError(f"object of type {type(answer.tool_calls).__name__!r} has no len()")
        if answer.tool_calls:
            more = _calls(log, answer, shown, tolerant)
        else:
            more = _text(log, answer, tolerant, sending.release)
        if more is None:
            break
        messages += more
    if log.result["action_name_label"] == "correct":
        log.result["is_optimal"] = len(log.result["latency"]) == graph.min_length
    return log.result


def _new_result(task: WildTask, release: Release) -> Result:
    """``release`` stands there where the requests are not those of the release whose layout this is."""
    begin = {"role": "user", "content": task.text}
    log = {"task_idx": task.position, "begin_of_current_task": begin}
    lists: Result = {"latency": [], "input_token_count": [], "output_token_count": []}
    other = {} if release == "2026" else {"release": release}
    return {"action_name_label": "error", "is_optimal": False, "inference_log": log, **lists, **other}


def _text(log: _Log, answer: ModelAnswer, tolerant: bool, release: Release) -> list[Message] | None:
    """A reply without calls: what is said next, or None where the task is over. Any content is a text that is not null
    or empty; the earlier release takes an empty list, 0 and false for empty, too."""
    matcher, content = log.matcher, answer.content
    if content is None or content == "" or (release == "2025" and not content):
        log.wrong(log.asked(answer), answer.refused or EMPTY)
        return None
    if matcher.over:
        if not tolerant:
            raise _SessionError(str(matcher.step))
        log.wrong(log.asked(answer), _no_state(matcher))
        return None
    step = log.asked(answer)
    group = matcher.text()
    if group is None:
        log.wrong(step, NOT_EXPECTED, matcher.expected())
        return None
    log.right(step, group)
    node = log.task.answer_list[group[0]]
    if node.is_prepare:
        log.result["action_name_label"] = "correct"
        return None
    return [{"role": "assistant", "content": content}, {"role": "user", "content": node.user_input}]


def _calls(log: _Log, answer: ModelAnswer, shown: Callable[[Json], str], tolerant: bool) -> list[Message] | None:
    """A reply with calls: the calls and their recorded results, or None where the task is over."""
    assert answer.tool_calls is not None
    matcher, step = log.matcher, log.asked(answer)
    try:
        names = [_name(call) for call in answer.tool_calls]
    except (KeyError, TypeError) as error:
        log.wrong(step, f"parse tool_calls failed, error: {error}")
        return None
    try:
        names.sort()
    except (
        TypeError
        # a null beside texts: upstream sorts them outside of its error handling (docs/benchmarks/wild.md#steps)
    ) as error:
        raise _SessionError(str(error)) from None
    if matcher.over:
        log.wrong(step, _no_state(matcher))
        return None
    group = matcher.call(names) if all(isinstance(name, str) for name in names) else None
    if group is None:
        log.wrong(step, NOT_EXPECTED, matcher.expected())
        return None
    if matcher.ended and not tolerant:  # upstream looks up this step in paths that are shorter
        raise _SessionError("list index out of range")
    log.right(step, group)
    message: dict[str, Any] = {"role": "assistant"}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    calls = [dict(call) for call in answer.tool_calls]
    message |= {"content": answer.content, **answer.extra, "tool_calls": calls}
    # the j-th result goes to the j-th call as emitted, although results are sorted by name and calls are not: as
    # upstream
    results = [node.observation for node in in_order(log.task, group)]
    ids = [call["id"] for call in answer.tool_calls]
    result_messages = [
        {"role": "tool", "content": shown(result), "tool_call_id": id} for result, id in zip(results, ids, strict=True)
    ]
    return [message, *result_messages]


def _name(call: Mapping[str, Any]) -> Any:
    """The called function's name, whatever it is. Raises KeyError or TypeError for a call that lacks a field.

    Replies of an endpoint lack none: the published client fills them with null, and so does ``ChatReply.message``.
    """
    _, function = call["id"], call["function"]
    name, _ = function["name"], function["arguments"]
    return name


def _no_state(matcher: GraphMatcher) -> str:
    return f"current step: {matcher.step}, idx_list is None"


# -- transcripts of the original layout


def with_inputs(
    session: Session, task: WildTask, result: Mapping[str, Any], *, sending: Sending = ORIGINAL, tolerant: bool = False
) -> Result:
    """A result of ``solve`` with the request of every step, as in the original's files.

    The replies are in the result and everything else is in the data, so that requests need not be stored: the task is
    run again on the stored replies.
    """
    sending = replace(sending, release=result.get("release", "2026"))
    stored = [step for key, step in result["inference_log"].items() if key.startswith("step_")]
    sent: list[dict[str, Json]] = []

    async def recall(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ModelAnswer:
        sent.append({"messages": copy.deepcopy(list(messages)), "tools": copy.deepcopy(list(tools))})
        output = stored[len(sent) - 1]["inference_output"]
        extra = output.get("extra") or {}
        return ModelAnswer(output["content"], output["tool_calls"], output["reasoning_content"], extra=extra)

    at_once(solve(session, task, recall, sending=sending, tolerant=tolerant))
    log = dict(result["inference_log"])
    for number, request in enumerate(sent):
        log[f"step_{number}"] = {"inference_input": request, **log[f"step_{number}"]}
    return {**{key: value for key, value in result.items() if key != "release"}, "inference_log": log}


def at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that never waits, so no event loop is needed."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    raise RuntimeError("work that was to be done at once waits for something")


# -- cases


async def run_task(case: Case, agent: Agent | None = None, *, sending: Sending = ORIGINAL) -> Json:
    """Solve a sample with the model, or with an agent program. Raises Fault: a failed request breaks this task only,
    while upstream loses the session.

    An agent is started for each step: a tool's result is a recorded one, and which result comes next depends on the
    calls, so the agent states its calls and its process ends.
    """
    session, task = resolve(case.sample)
    dialect, tolerant = case.settings.dialect, case.settings.scoring == "strict"
    format = None if dialect == "native" else format_of(dialect, case.settings.prompts)
    # of the endpoint's own calls a release's temperature is the published setting, of a family's what its runs had
    if format or tolerant:  # a family's format writes the date, and takes the schemas as they are
        sending = replace(sending, release="2026")
    usual = NATIVE[sending.release] if format is None or tolerant else Sampling(format.temperature, format.max_tokens)
    first_form = format if isinstance(format, Published) and not (tolerant or agent) else None
    written: list[str] = []
    opened = 0

    def rendered(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        nonlocal opened
        opened = opened or len(messages)
        if first_form:
            offered = session.tools if sending.schemas == "original" else tools
            return first_form.published(dialogue_of(session, task, messages, opened, written), offered)
        if format:
            return format.request(messages, tools)
        return RenderedRequest(tuple(messages), tuple(tools), raw=False)

    async def ask(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> ModelAnswer:
        sent = rendered(messages, tools)
        if sent.refused:
            return ModelAnswer(None, None, refused=sent.refused)
        clock = time.monotonic()
        if agent:
            reply = (await agent(case, AgentTask(messages, functions=tools))).reply
        elif format and format.all_tokens and not tolerant:
            reply = await _within(format.all_tokens, case, sent, usual)
        else:
            try:
                reply = await put(case, sent, usual)
            except ModelFault as fault:
                if not (sent.refusal and fault.cause == "http 400"):
                    raise
                return ModelAnswer(None, None, refused=sent.refusal)
        seconds = round(time.monotonic() - clock if reply.cached is None else reply.cached, 3)
        written.append(reply.words)
        reply = parse_reply(format, reply, tools, tolerant=tolerant) if format else reply
        return answer_of(reply, len(written), written=format is not None, tolerant=tolerant, seconds=seconds)

    return await solve(session, task, ask, sending=sending, tolerant=tolerant, quoted=bool(first_form))


async def _within(most: int, case: Case, sent: RenderedRequest, usual: Sampling) -> ChatReply:
    """A reply of which the request takes its part of ``most`` tokens, unless the run sets a limit of its own: empty
    where nothing is left, since the published server failed there. A longer reply is asked for again, as only its
    request tells what is left. Endpoints that do not count tokens send all."""
    reply = await put(case, sent, replace(usual, max_tokens=most))
    usage = reply.usage
    left = most - usage.prompt_tokens
    if reply.max_tokens != most or usage.requests != 1 or usage.estimated_requests:
        return reply
    if left <= 0:
        return ChatReply(finish_reason="length", usage=usage, model=reply.model)
    return reply if usage.completion_tokens <= left else await put(case, sent, replace(usual, max_tokens=left))


def answer_of(
    reply: ChatReply, number: int, *, written: bool = False, tolerant: bool = False, seconds: float = 0.0
) -> ModelAnswer:
    """A reply as the protocol has it: the message as it came (docs/benchmarks/wild.md#steps).

    ``number`` counts a task's replies, to name calls that were ``written`` in a text, which have no ids. ``tolerant``
    reads the message as the other benchmarks do: calls that name a function, with ids made up and arguments as text,
    and a refusal for a text.
    """
    message, usage = reply.message, reply.usage
    content, calls = (reply.received or message)["content"], message.get("tool_calls")
    if tolerant:
        calls = [replace(call, arguments=completed(call.arguments)).to_wire() for call in reply.tool_calls]
        content, calls = reply.words or None, calls or None
    if tolerant or written:
        calls = calls and [
            {**call, "id": call["id"] or MadeId(f"call_{number}_{place}")} for place, call in enumerate(calls)
        ]
    reasoning = message.get("reasoning_content")
    used = (usage.prompt_tokens, usage.completion_tokens)
    return ModelAnswer(content, calls, reasoning, seconds, *used, extra=reply.extra)
