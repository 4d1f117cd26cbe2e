"""The loop that lets a model use tools until it has an answer; and a conversation of the tested model with tools of
this process, and with a user that another model plays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgauge.agent.dialect import (
    INVALID_ACTION,
    NO_ACTION,
    Action,
    ActionResult,
    Call,
    CallError,
    Dialect,
    Finish,
    ask,
)
from agentgauge.agent.dialects.format import text_of as words_of
from agentgauge.agent.model_json import read_json
from agentgauge.agent.native import chosen_dialect
from agentgauge.core.case import Case
from agentgauge.core.chat import (
    ChatReply,
    Conversation,
    ConversationCall,
    Ended,
    Message,
    Sampling,
    SimulatedUser,
    completed,
)
from agentgauge.core.errors import ModelFault, ToolError
from agentgauge.core.function_tools import Function, FunctionBox, as_json, tools_of
from agentgauge.core.task_options import role_option
from agentgauge.core.tools import SchemaTool, Tool, ToolBox, ToolOutput
from agentgauge.core.types import Json


@dataclass(frozen=True, slots=True)
class Exchange:
    """One action of the model, with its result."""

    thought: str  # the text beside it; empty for the second and later of parallel calls
    action: Action  # a call that its tool refused has become a CallError
    outputs: tuple[ToolOutput, ...] | None = None  # None: the call failed or was left, or there was none

    @property
    def is_left(self) -> bool:
        """Whether this is a valid call of a tool that AgentGauge does not run."""
        return isinstance(self.action, Call) and self.outputs is None


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of a loop of model and tools."""

    exchanges: tuple[Exchange, ...]
    conversation: tuple[Message, ...]  # what was given, and what was said since
    turns: int  # replies of the model, those before included


async def use_tools(
    case: Case,
    dialect: Dialect,
    tools: Mapping[str, Tool],
    memory: Sequence[Message],
    *,
    max_turns: int,
    last_turn_note: str | None = None,
    usual: Sampling = Sampling(),  # noqa: B008 - frozen
    box: ToolBox | None = None,
    taken: int = 0,
) -> LoopResult:
    """Send requests to the model, run the tools that it calls, and return their results to it, until the model finishes
    or has used ``max_turns``. ``taken`` of these turns are used already.

    ``memory`` is the conversation so far without the dialect's opening, and is not changed. On the last turn
    ``last_turn_note`` closes the request. Parallel calls of one reply run in order. ``box`` runs the tools instead of
    the case's tool server. A call of a tool that AgentGauge does not run ends the loop. Model errors are returned to
    the model; ToolFault and ModelFault pass through.
    """
    conversation = list(memory)
    exchanges: list[Exchange] = []
    turn = taken - 1
    for turn in range(taken, max_turns):
        closing = [dialect.note(last_turn_note)] if last_turn_note and turn == max_turns - 1 else []
        reply = await ask(case, dialect.request([*conversation, *closing], list(tools.values())), usual)
        reading = dialect.read(reply, tools, turn)
        thought, results = reading.thought, list[ActionResult]()
        conversation += dialect.reply_messages(reply, reading)
        is_over = False
        for action in reading.actions:
            exchange = await _act(case, thought, action, tools, box)
            exchanges.append(exchange)
            if isinstance(action, Finish):
                return LoopResult(tuple(exchanges), tuple(conversation), turn + 1)
            is_over = is_over or exchange.is_left
            results.append(ActionResult(exchange.action, text_of(exchange)))
            thought = ""
        if is_over:
            break
        conversation += dialect.result_messages(results)
    return LoopResult(tuple(exchanges), tuple(conversation), turn + 1)


async def _act(case: Case, thought: str, action: Action, tools: Mapping[str, Tool], box: ToolBox | None) -> Exchange:
    tool = None if isinstance(action, Finish) else tools.get(action.name)
    if tool is None or isinstance(action, Finish) or (isinstance(tool, SchemaTool) and not tool.is_run):
        return Exchange(thought, action)
    if isinstance(action, CallError):  # the log holds every call of a tool, those that cannot be made, too
        given = action.arguments
        await case.refused(action.name, _value(given) if isinstance(given, str) else given, action.message)
        return Exchange(thought, action)
    try:
        outputs = await case.use(action.name, action.converted, box=box)
    except ToolError as error:
        return Exchange(thought, CallError(action.name, action.arguments, "API_ERROR", str(error), action.id))
    return Exchange(thought, action, outputs)


def text_of(exchange: Exchange) -> str:
    if isinstance(exchange.action, CallError):
        return exchange.action.message
    return "\n".join(shown(output.type, output.content) for output in exchange.outputs or ())


def shown(type: str, content: str) -> str:
    """A tool's output as a model reads it: text as it is, a file as ``[image](path)``."""
    return content if type == "text" else f"[{type}]({content})"


EMPTY_REPLY = "Your reply was empty. Call a tool, or answer in words."
UNKNOWN_TOOL = "There is no tool of that name. Call one of the tools on offer, or answer in words."

PLAY = """\
You play a person who writes to an assistant. This is who you are and what you want:

{instructions}

Write what that person writes next, one short message at a time, and nothing else. Say only what the assistant needs \
for its next step, and make nothing up. As soon as you have what you want, or cannot get it, write {stop}"""
START = "(The assistant is there. Write your first message.)"

_OTHER = {"user": "assistant", "assistant": "user"}


async def converse(
    case: Case,
    messages: str | Sequence[Message] = (),
    *,
    system: str = "",
    tools: Iterable[Function | Mapping[str, Json] | Tool] = (),
    state: Any = None,
    user: SimulatedUser | str | None = None,
    max_turns: int = 30,
    usual: Sampling = Sampling(),  # noqa: B008 - frozen
) -> Conversation:
    """See ``Case.converse``."""
    offered = tools_of(tools)
    box = FunctionBox(offered, state, case.toolbox)
    dialect = chosen_dialect(case.settings, EMPTY_REPLY, UNKNOWN_TOOL)
    user = SimulatedUser(user) if isinstance(user, str) else user
    conversation: list[Message] = [{"role": "system", "content": system}] if system else []
    conversation += [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    if not user and not any(message["role"] == "user" for message in conversation):
        raise ValueError("a conversation needs a message of the user to begin with, or a simulated user")
    calls: list[ConversationCall] = []
    text, turns = "", 0
    ended: Ended = "turns"
    waits = conversation[-1]["role"] == "user" if conversation else False  # for the tested model
    while turns < max_turns:
        if user and not waits:
            line = await _user_line(case, user, conversation)
            conversation.append({"role": "user", "content": line})
            if not line.strip() or user.stop in line:
                ended = "user"
                break
        uses = await use_tools(
            case, dialect, offered, conversation, taken=turns, max_turns=max_turns, usual=usual, box=box
        )
        calls += _calls(uses, len(conversation))
        conversation, turns, waits = list(uses.conversation), uses.turns, False
        text, ended = _text_and_end(uses)
        if ended == "answer" and text and conversation[-1]["role"] != "assistant":
            conversation.append({"role": "assistant", "content": text})  # a refusal
        if not user or ended != "answer":
            break
    return Conversation(text, tuple(calls), turns, ended, tuple(conversation), as_json(state))


def conversation_of(reply: ChatReply) -> Conversation:
    """The conversation that consists of a single reply of ``Case.ask``, native calls included."""
    calls = tuple(ConversationCall(call.name, _value(completed(call.arguments))) for call in reply.tool_calls)
    return Conversation(reply.words, calls, ended="call" if calls else "answer")


async def _user_line(case: Case, user: SimulatedUser, conversation: Sequence[Message]) -> str:
    """What the user writes next. Calls and their results are the assistant's alone.

    Raises ModelFault, also where a model other than the tested one writes nothing.
    """
    role = role_option(user.role).name
    visible = [
        {"role": _OTHER[message["role"]], "content": text}
        for message in conversation
        if message["role"] in _OTHER and (text := words_of(message)) and not message.get("tool_calls")
    ]
    play = PLAY.format(instructions=user.instructions, stop=user.stop)
    opening = [{"role": "system", "content": play}, {"role": "user", "content": START}]
    reply = await case.ask([*opening, *visible], role=role)
    line = reply.words
    if not line.strip() and case.name_of(role) != case.name_of(""):
        raise ModelFault(
            f"model {case.name_of(role)}: the simulated user wrote nothing (finish reason {reply.finish_reason!r});"
            " give it a higher max_tokens if that is the reason, and run again with --resume",
            cause="user silent",
        )
    return line


def _text_and_end(uses: LoopResult) -> tuple[str, Ended]:
    last = uses.exchanges[-1]
    if isinstance(last.action, Finish):
        return last.action.text, "answer"
    ended: Ended = "call" if any(exchange.is_left for exchange in uses.exchanges) else "turns"
    thoughts = [exchange.thought for exchange in uses.exchanges if exchange.thought]
    return thoughts[-1] if ended == "call" and thoughts else "", ended


def _calls(uses: LoopResult, before: int) -> list[ConversationCall]:
    """The calls of a part of a conversation, in order. ``before``: messages that were there before it."""
    written = [call["function"] for message in uses.conversation[before:] for call in message.get("tool_calls") or ()]
    # in order, since ids may come again; an empty reply is no call
    made = [each for each in uses.exchanges if not isinstance(each.action, Finish) and each.action.name != NO_ACTION]
    return [_call(exchange, call["name"]) for exchange, call in zip(made, written, strict=True)]


def _call(exchange: Exchange, name: str) -> ConversationCall:
    """``name``: as the model wrote it, be there such a tool or not."""
    action = exchange.action
    assert not isinstance(action, Finish)
    arguments = action.arguments
    if action.name == INVALID_ACTION:
        arguments = arguments["text"]
    if isinstance(arguments, str):
        arguments = _value(arguments)
    if isinstance(action, CallError):
        return ConversationCall(name, arguments, error=action.message)
    files = tuple(Path(output.content) for output in exchange.outputs or () if output.type != "text")
    return ConversationCall(name, arguments, None if exchange.is_left else text_of(exchange), files=files)


def _value(text: str) -> Json:
    try:
        return read_json(text)
    except ValueError:
        return text
