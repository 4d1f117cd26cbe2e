"""A case: one sample, one attempt, its clock, and the model and the tools that it uses."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from agentgauge.core.chat import (
    CaseKey,
    ChatModel,
    ChatReply,
    ChatRequest,
    Conversation,
    Message,
    Sampling,
    SimulatedUser,
    told,
)
from agentgauge.core.errors import AgentGaugeError, ModelFault, UsageProblem
from agentgauge.core.redaction import redact
from agentgauge.core.reply_ends import is_cut, limit_of
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import Event, Json, Sample, Scoring, Usage

Answer = TypeVar("Answer")

# -- How the time of a case divides: waiting for a slot here, waiting for an endpoint, tools, and the rest.


Kind = Literal["endpoint", "tools", "slots"]
KINDS: tuple[Kind, ...] = ("endpoint", "tools", "slots")
"""``endpoint``: a model was asked, retries and the waits between them included. ``slots``: a request was ready, but too
many others ran, or the given rates did not allow it yet."""


class CaseClock:
    """Each moment belongs to the first of KINDS that a part of the case is at, or to none of them. So the parts of a
    case that asks several models at once are no longer than the case."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._seconds: dict[str, float] = dict.fromkeys(KINDS, 0.0)
        self._active: Counter[Kind] = Counter()
        self._since = now()
        self.cached = 0.0  # seconds that replies and results of --cache did take when they were first given

    @property
    def seconds(self) -> Mapping[str, float]:
        """Until now, by kind; and ``cached``, which is no part of the case, where there is any."""
        self._add(0)
        return {**self._seconds, "cached": self.cached} if self.cached else dict(self._seconds)

    @contextmanager
    def at(self, kind: Kind) -> Iterator[Exchange]:
        """Context of a request or of a tool's call."""
        exchange = Exchange(self, kind, self.now())
        token = _CURRENT.set(exchange)
        self._add(1, kind)
        try:
            yield exchange
        finally:
            self._add(-1, kind)
            _CURRENT.reset(token)

    @contextmanager
    def leaving(self, kind: Kind) -> Iterator[None]:
        """Context in which a part of the case that is at ``kind`` waits for a slot."""
        self._add(-1, kind)
        self._add(1, "slots")
        try:
            yield
        finally:
            self._add(-1, "slots")
            self._add(1, kind)

    def pause(self, kind: Kind) -> None:
        """A part of the case is not at ``kind`` until ``resume``."""
        self._add(-1, kind)

    def resume(self, kind: Kind) -> None:
        self._add(1, kind)

    def _add(self, change: int, kind: Kind = "slots") -> None:
        now = self.now()
        if current := next((each for each in KINDS if self._active[each]), None):
            self._seconds[current] += now - self._since
        self._since = now
        self._active[kind] += change


@dataclass(slots=True)
class Exchange:
    """A request or a call that goes on."""

    clock: CaseClock
    kind: Kind
    began: float
    waited: float = 0.0  # seconds, for slots and for hooks that did not answer

    def seconds(self) -> float:
        """Until now, without what it has waited."""
        return self.clock.now() - self.began - self.waited

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context in which hooks are asked: what they take is time of neither endpoint nor tool."""
        self.clock.pause(self.kind)
        try:
            yield
        finally:
            self.clock.resume(self.kind)


_CURRENT: ContextVar[Exchange | None] = ContextVar("agentgauge_exchange", default=None)


def exchange_seconds() -> float:
    """Those of the request that is being made, until now and without waiting for slots; 0 outside of one."""
    exchange = _CURRENT.get()
    return exchange.seconds() if exchange else 0.0


@contextmanager
def waiting_for_slot() -> Iterator[None]:
    """Context in which the request that is being made waits for a slot, and not for the endpoint."""
    exchange = _CURRENT.get()
    if exchange is None:
        yield
        return
    began = exchange.clock.now()
    try:
        with exchange.clock.leaving(exchange.kind):
            yield
    finally:
        exchange.waited += exchange.clock.now() - began


# -- The object that a benchmark's ``run`` works with: it sends requests, calls tools, and keeps a log of both.


NOT_SENT = "stopped"
"""The cause of the fault of a request that is not sent, because the run stops."""

_SETTLE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """Settings that all cases of a run share."""

    dialect: str = "native"
    scoring: Scoring = "parity"
    temperature: float | None = None
    max_tokens: int | None = None
    prompts: Path | None = None  # folder of texts that replace the built-in wording
    attempts: int = 1  # how often each sample is attempted
    live: bool = True  # False while a run is recorded or replayed: what other runs have kept is not used


class CaseHooks(Protocol):
    """The hooks of a case: see agentgauge/hookspec.py."""

    async def answer(self, hook: str, **given: Any) -> tuple[Any, str] | None:
        """The first answer, and who gives it."""

    async def tell(self, hook: str, **given: Any) -> None: ...


class Converse(Protocol):
    """The loop of model, tools and user behind ``Case.converse``."""

    async def __call__(
        self,
        case: Case,
        messages: str | Sequence[Message],
        *,
        system: str,
        tools: Iterable[Callable[..., Any] | Mapping[str, Json] | Tool],
        state: Any,
        user: SimulatedUser | str | None,
        max_turns: int,
        usual: Sampling,
    ) -> Conversation: ...


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The result of a case's finished stages."""

    output: Json
    events: tuple[Event, ...]
    usage: Usage
    turn: int  # requests so far


@dataclass(slots=True)
class Case:
    """One attempt at one sample. It sends requests, calls tools, and keeps the events and the usage."""

    sample: Sample
    attempt: int
    seed: int
    settings: CaseSettings
    model: ChatModel
    toolbox: ToolBox | None
    folder: Path  # where this case's produced files go; made when first needed
    models: Callable[[str], ChatModel] | None = None  # the models that options name for roles of their own
    loop: Converse | None = None
    hooks: CaseHooks | None = None  # None: no hook of a case is implemented
    system: str = ""  # what the tested model is told before every conversation, besides what the task tells it
    readable: list[Path] | None = None  # what tools may read besides ``folder``; None: what is below the sample's root
    tools: Iterable[Callable[..., Any] | Mapping[str, Json] | Tool] = ()  # of ``converse``, where it is given none
    resumed: Checkpoint | None = None  # of an earlier session, in which the case broke after it
    on_checkpoint: Callable[[Checkpoint], None] | None = None
    checkpoint_output: Json | None = None  # what ``checkpoint`` was given, now or in an earlier run that broke later
    events: list[Event] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    clock: CaseClock = field(default_factory=CaseClock)
    is_unfinished: bool = False  # a request was not sent, because the run stops: whatever ``run`` makes of that
    _open: int = 0  # requests that have no outcome yet
    _turn: int = 0
    _previous: dict[str, tuple[Message, ...]] = field(default_factory=dict)  # role → its last request
    _offered: dict[str, list[Json]] = field(default_factory=dict)  # role → the tools of its last request

    def __post_init__(self) -> None:
        if found := self.resumed:
            self.checkpoint_output, self.events, self.usage = found.output, list(found.events), found.usage
            self._turn = found.turn

    @property
    def id(self) -> tuple[str, str, int]:
        """Task, sample, attempt."""
        return self.sample.task, self.sample.id, self.attempt

    def checkpoint(self, output: Json) -> None:
        """Store the result of a finished stage. If a fault ends the case later, a resumed run finds the result in
        ``checkpoint_output``, and the files in ``folder``, and does not repeat the stage."""
        self.checkpoint_output = output
        if self.on_checkpoint:
            self.on_checkpoint(Checkpoint(output, tuple(self.events), self.usage, self._turn))

    async def ask(
        self,
        messages: str | Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        raw: bool = False,
        template: Mapping[str, Any] | None = None,
        usual: Sampling = Sampling(),  # noqa: B008 - frozen
        stop: Sequence[str] = (),
        extra: Mapping[str, Any] | None = None,
        draw: int | None = None,
        role: str = "",
    ) -> ChatReply:
        """Send a conversation to the model; a text becomes a user message. Raises ModelFault.

        ``draw`` numbers the repetitions of a request that is sent several times: each has its own seed. ``role`` is
        the option that names another model for this request, such as a judge. The other arguments are those of
        ChatRequest.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        model = self._model_of(role)
        own = model is self.model  # what is set for the tested model is not for others
        if own and self.system:
            messages = told(messages, self.system)
        request = ChatRequest(
            messages=tuple(messages),
            tools=tuple(tools),
            raw=raw,
            template=template or {},
            temperature=self.settings.temperature if own else None,
            max_tokens=self.settings.max_tokens if own else None,
            usual=usual,
            seed=(self.seed + (draw or 0)) & 0x7FFFFFFF,
            repeated=draw is not None or self.settings.attempts > 1,
            stop=tuple(stop),
            extra=extra or {},
            case=CaseKey(self.sample.task, self.sample.id, self.attempt, self._turn, role),
        )
        self._turn += 1
        detail: dict[str, Any] = self._new_messages(role, request.messages)
        if role:
            detail["role"] = role
        offered = [_outline(tool) for tool in request.tools]
        if offered != self._offered.setdefault(role, []):
            detail["tools"] = self._offered[role] = offered
        self._open += 1
        with self.clock.at("endpoint") as exchange:
            try:
                reply = await self._reply(model, request, exchange, detail)
            except AgentGaugeError as error:
                if isinstance(error, ModelFault):
                    self.usage += error.usage
                    self.is_unfinished |= error.cause == NOT_SENT
                await self._failed(exchange, _event("model", model.name, exchange, detail, str(error)))
                raise
            finally:
                self._open -= 1
        self.usage += reply.usage
        detail |= {"reply": reply.text, "finish_reason": reply.finish_reason}
        if is_cut(reply.finish_reason):
            limits = (reply.max_tokens, request.max_tokens, usual.max_tokens)  # older cassettes lack the first
            detail["max_tokens"] = limit_of(reply.finish_reason, *limits)
        if reply.tool_calls:
            detail["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
        if reply.refusal:
            detail["refusal"] = reply.refusal
        if reply.reasoning:
            detail["reasoning"] = reply.reasoning
        if reply.observed:
            detail["observed"] = dict(reply.observed)
        self._note_cached(detail, reply.cached)
        self.events.append(event := _event("model", model.name, exchange, detail))
        if self.hooks:
            given = {"case": self, "request": request, "reply": reply, "event": event}
            await self.hooks.tell("pytest_agentgauge_reply", **given)
        return reply

    async def _failed(self, exchange: Exchange, event: Event) -> None:
        self.events.append(event)
        if self.hooks:
            with exchange.paused():
                await self.hooks.tell("pytest_agentgauge_failed", case=self, event=event)

    async def _reply(
        self, model: ChatModel, request: ChatRequest, exchange: Exchange, detail: dict[str, Any]
    ) -> ChatReply:
        if found := await self._answer("pytest_agentgauge_request", exchange, detail, request=request):
            return _checked_answer(found, ChatReply)
        return await model.complete(request)

    async def _answer(
        self, hook: str, exchange: Exchange, detail: dict[str, Any], **given: Any
    ) -> tuple[Any, str] | None:
        """The answer of a hook that takes the place of the model's or a tool's, and the hook; None where none gives
        one."""
        if self.hooks is None:
            return None
        began = self.clock.now()
        with exchange.paused():
            found = await self.hooks.answer(hook, case=self, **given)
        if found is None:
            exchange.waited += self.clock.now() - began
            return None
        answer, detail["answered_by"] = found
        return answer, f"{hook} of {found[1]}"

    async def converse(
        self,
        messages: str | Sequence[Message] = (),
        *,
        system: str = "",
        tools: Iterable[Callable[..., Any] | Mapping[str, Json] | Tool] | None = None,
        state: Any = None,
        user: SimulatedUser | str | None = None,
        max_turns: int = 30,
        usual: Sampling = Sampling(),  # noqa: B008 - frozen
    ) -> Conversation:
        """Let the model use tools until it answers, in the run's dialect. Returns the conversation.

        ``messages``: the conversation so far; a text becomes a user message. ``tools``: typed Python functions
        (agentgauge.core.function_tools), which are run; real tools, of ``catalog``; or OpenAI's function schemas,
        which are not run: a call of one ends the conversation. None: ``Case.tools``. ``state`` is the functions' state.
        ``user``: a model that plays the user, or the text of its instructions; it answers the tested model until it
        sends the stop text. ``max_turns``: replies of the tested model in all. Raises Fault.
        """
        assert self.loop is not None, "only a case of a run has a loop"
        offered = self.tools if tools is None else tools
        return await self.loop(
            self, messages, system=system, tools=offered, state=state, user=user, max_turns=max_turns, usual=usual
        )

    def _model_of(self, role: str) -> ChatModel:
        return self.models(role) if role and self.models else self.model

    def name_of(self, role: str) -> str:
        """The name of the model with a role; without a role, of the tested model."""
        return self._model_of(role).name

    def fingerprint_of(self, role: str) -> str:
        """Fingerprint of everything about that model that may change its replies."""
        return self._model_of(role).fingerprint

    def reported_of(self, role: str) -> str | None:
        """That model's name as its endpoint reports it; None where it was not asked."""
        return self._model_of(role).reported

    async def catalog(self) -> Mapping[str, Tool]:
        """The metadata of the real tools; empty without a tool server."""
        return await self.toolbox.catalog() if self.toolbox else {}

    async def use(
        self, name: str, arguments: Mapping[str, Any], *, box: ToolBox | None = None
    ) -> tuple[ToolOutput, ...]:
        """Run a tool of ``box``, or a real tool. Raises ToolError, which the model should get, or ToolFault."""
        box = box or self.toolbox
        assert box is not None, f"{self.sample.task} declares no real tools"
        detail: dict[str, Any] = {"arguments": dict(arguments)}
        readable = [self.sample.root] if self.readable is None else self.readable
        with self.clock.at("tools") as exchange:
            try:
                outputs = await self._called(box, name, arguments, readable, exchange, detail)
            except AgentGaugeError as error:
                await self._failed(exchange, _event("tool", name, exchange, detail, str(error)))
                raise
        result = tuple(
            replace(output, content=redact(output.content)) if output.type == "text" else output for output in outputs
        )
        detail["result"] = [{"type": output.type, "content": output.content} for output in result]
        self._note_cached(detail, result[0].cached if result else None)
        self.events.append(event := _event("tool", name, exchange, detail))
        if self.hooks:
            given = {"case": self, "name": name, "arguments": arguments, "result": result, "event": event}
            await self.hooks.tell("pytest_agentgauge_tool_result", **given)
        return result

    async def refused(self, name: str, arguments: Json, message: str) -> None:
        """Log a call of a tool that cannot be made, as ``use`` logs one that fails. ``arguments``: the raw text where
        they are no object."""
        detail = {"arguments": arguments if isinstance(arguments, dict) else {"text": arguments}}
        with self.clock.at("tools") as exchange:
            await self._failed(exchange, _event("tool", name, exchange, detail, message))

    async def _called(
        self,
        box: ToolBox,
        name: str,
        arguments: Mapping[str, Any],
        readable: Sequence[Path],
        exchange: Exchange,
        detail: dict[str, Any],
    ) -> tuple[ToolOutput, ...]:
        given = {"name": name, "arguments": arguments}
        if found := await self._answer("pytest_agentgauge_tool_call", exchange, detail, **given):
            result, hook = found
            if isinstance(result, str):
                return (ToolOutput("text", result),)
            outputs = result if isinstance(result, tuple | list) else (result,)
            return tuple(_checked_answer((each, hook), ToolOutput) for each in outputs)
        return await box.call(name, arguments, folder=self.folder, readable=readable)

    def _note_cached(self, detail: dict[str, Any], seconds: float | None) -> None:
        """``seconds``: of the first answer, where it is given again."""
        if seconds is not None:
            detail["cached"] = round(seconds, 3)
            self.clock.cached += seconds

    async def settled(self) -> None:
        """Wait for requests that ``run`` has sent at the same time as the one that ended it: they are paid for."""
        while self._open:  # noqa: ASYNC110 - only where a run stops, so that no request has to set an event
            await asyncio.sleep(_SETTLE_SECONDS)

    def drain(self) -> None:
        """Begin the log and the usage anew, once they are stored."""
        self.events, self.usage, self.clock = [], Usage(), CaseClock()
        self._previous.clear()

    def _new_messages(self, role: str, messages: tuple[Message, ...]) -> dict[str, Any]:
        """The messages that the previous request to the same role did not hold, so that a log grows linearly."""
        known = 0
        for old, new in zip(self._previous.get(role, ()), messages, strict=False):
            if old != new:
                break
            known += 1
        self._previous[role] = messages
        return {"known": known, "messages": [dict(message) for message in messages[known:]]}


def _checked_answer(found: tuple[Any, str], kind: type[Answer]) -> Answer:
    """``found``: the answer, and the hook that gives it. Raises UsageProblem for one of another type."""
    answer, hook = found
    if not isinstance(answer, kind):
        raise UsageProblem(f"{hook} answered {answer!r}; give a {kind.__name__}, or None to leave it to the others")
    return answer


def _outline(tool: Mapping[str, Any]) -> dict[str, Json]:
    """What a record keeps of a tool that a request offers."""
    function = tool.get("function")
    known = function if isinstance(function, Mapping) else tool
    return {"name": str(known.get("name", "")), "description": str(known.get("description") or "")}


def _event(
    kind: Literal["model", "tool"], name: str, exchange: Exchange, detail: Mapping[str, Json], error: str | None = None
) -> Event:
    """The event of an exchange that ends now. Its waits for slots lie before its start."""
    seconds = exchange.seconds()
    return Event(kind, name, time.time() - seconds, seconds, detail, error)
