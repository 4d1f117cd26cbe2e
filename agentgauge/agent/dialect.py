"""The interface of a dialect: how tools are presented to a model, and the actions that its replies are parsed into.

A dialect keeps no state. ``native`` and ``react`` implement it. Arguments are converted to the types of a tool's inputs
by the rules of the published benchmark's agent (docs/benchmarks/gta_atomic.md#resolving-an-action, step 6), oddities
included: ``null`` for a text becomes the word ``None``, any non-empty text is true, a fraction is cut to an integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from agentgauge.agent.dialects.format import RenderedRequest
from agentgauge.agent.model_json import read_json
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message, Sampling
from agentgauge.core.tools import FILE_TYPES, Parameter, SchemaTool, Tool
from agentgauge.core.types import Json


def convert(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with every value in its input's type; a value that has the type already is left alone.

    The names must be inputs of the tool. Raises TypeError, ValueError, OverflowError or OSError (which includes
    FileNotFoundError) for the first value that cannot be converted.
    """
    inputs = {parameter.name: parameter for parameter in tool.inputs}
    return {name: _value(inputs[name], value, tool.finds_files) for name, value in arguments.items()}


def _value(parameter: Parameter, value: Any, finds_files: bool) -> Any:
    if parameter.type in FILE_TYPES:
        return value if finds_files else _existing(parameter, value)
    # bool is an int for isinstance, so true stays true where an integer is wanted: as upstream
    wanted = {"text": str, "int": int, "float": float, "bool": bool}[parameter.type]
    return value if isinstance(value, wanted) else wanted(value)


def _existing(parameter: Parameter, value: Any) -> str:
    """Folders and the empty text (the working directory) pass: as upstream. The tool box refuses what it must not
    read."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter.name} must be the path of a file, not {type(value).__name__}")
    if not Path(value).exists():
        raise FileNotFoundError(f"No such file: '{value}'")
    return value


ErrorType = Literal["ARGS_ERROR", "API_ERROR"]

NO_ACTION = "NoAction"
"""The tool's name in a record if no call could be read."""

INVALID_ACTION = "InvalidAction"
"""The tool's name in a record if the tool is unknown or not offered."""

NOT_AN_OBJECT = "invalid json format: "
"""The beginning of the message about arguments that are not a JSON object, which follow it."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The model gave its final answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call that fits its tool."""

    name: str
    arguments: Mapping[str, Json]  # as the model gave them
    converted: Mapping[str, Any]  # in the types of the tool's inputs
    id: str = ""  # of the native call; empty in text dialects


@dataclass(frozen=True, slots=True)
class CallError:
    """A call that cannot be made, or that failed."""

    name: str  # tool name, NO_ACTION or INVALID_ACTION
    arguments: Json  # the object, or the raw text where it could not be read
    type: ErrorType
    message: str  # sent to the model
    id: str = ""


Action = Finish | Call | CallError


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed reply: a thought (may be empty) and at least one action."""

    thought: str
    actions: tuple[Action, ...]
    parsed: ChatReply | None = None  # in OpenAI's form, if a dialect parsed its text


def read_call(tool: Tool, text: str, *, raw: str | None = None, id: str = "") -> Call | CallError:
    """Parse the arguments of a call, JSON text, and check them against the tool's inputs
    (docs/benchmarks/gta_atomic.md#resolving-an-action, steps 4 to 6).

    ``raw``: the text that a record keeps if the arguments cannot be parsed (default: the arguments as given). Python's
    JSON reader decides: NaN and Infinity pass, the last of repeated keys counts. Everything that is not an object is an
    ARGS_ERROR. Upstream stopped on some of these values, so no published score depends on the difference.
    """
    raw = text if raw is None else raw
    try:
        arguments = read_json(text)
    except ValueError:
        return CallError(tool.name, raw, "ARGS_ERROR", f"{NOT_AN_OBJECT}{text}", id)
    if not isinstance(arguments, dict):
        return CallError(tool.name, raw, "ARGS_ERROR", f"{NOT_AN_OBJECT}{text}", id)
    if isinstance(tool, SchemaTool):
        try:
            tool.check(arguments)
        except ValueError as error:
            return CallError(tool.name, arguments, "ARGS_ERROR", str(error), id)
        return Call(tool.name, arguments, arguments, id)
    names = {parameter.name for parameter in tool.inputs}
    if unknown := set(arguments) - names:
        return CallError(tool.name, raw, "ARGS_ERROR", f"unknown arguments: {_as_set(unknown)}", id)
    required = {parameter.name or "" for parameter in tool.inputs if not parameter.optional}
    if missing := required - set(arguments):
        return CallError(tool.name, raw, "ARGS_ERROR", f"missing required arguments: {_as_set(missing)}", id)
    try:
        converted = convert(tool, arguments)
    except (TypeError, ValueError, OverflowError, OSError, RecursionError) as error:
        return CallError(tool.name, arguments, "API_ERROR", repr(error), id)
    return Call(tool.name, arguments, converted, id)


def _as_set(names: set[str]) -> str:
    """As Python prints a set, but sorted: messages must not differ between runs."""
    return "{" + ", ".join(repr(name) for name in sorted(names)) + "}"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of one of the model's actions as the model sees it: a tool's result or an error."""

    action: Action
    text: str


@dataclass(frozen=True, slots=True)
class PastText:
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PastCall:
    name: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PastResult:
    """The result of the preceding call."""

    text: str


Past = PastText | PastCall | PastResult


class Dialect(Protocol):
    def request(self, conversation: Sequence[Message], tools: Sequence[Tool]) -> RenderedRequest:
        """The request for a conversation, with the tools beside the messages or in the prompt."""

    def read(self, reply: ChatReply, tools: Mapping[str, Tool], turn: int) -> Reading:
        """The actions of a reply, given the offered ``tools``. A part that cannot be parsed is a CallError. ``turn`` is
        the number of the reply in its conversation; a call without an id gets its id from it.

        Raises ModelFault if the server has parsed calls out of a text that the dialect should parse.
        """

    def reply_messages(self, reply: ChatReply, reading: Reading) -> list[Message]:
        """The reply as messages of the conversation."""

    def result_messages(self, results: Sequence[ActionResult]) -> list[Message]:
        """The results of a reply's actions as messages of the conversation."""

    def note(self, text: str) -> Message:
        """A remark of the benchmark in the middle of a conversation."""

    def history(self, turns: Sequence[Past]) -> list[Message]:
        """The messages of a conversation that a sample gives."""


async def ask(case: Case, sent: RenderedRequest, usual: Sampling = Sampling()) -> ChatReply:  # noqa: B008 - frozen
    """Send a request to the model. Raises ModelFault."""
    return await case.ask(sent.messages, tools=sent.tools, raw=sent.raw, template=sent.template, usual=usual)
