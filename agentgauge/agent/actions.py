"""The actions of a model's reply, in any dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentgauge.agent.convert import convert
from agentgauge.agent.model_json import read_json
from agentgauge.core.chat import ChatReply
from agentgauge.core.tools import SchemaTool, Tool
from agentgauge.core.types import Json

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
    """Parse the arguments of a call, JSON text, and check them against the tool's inputs (GTA spec 7.4, steps 4 to 6).

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
