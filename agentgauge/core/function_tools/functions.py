"""Tools in process: typed Python functions that a model may call.

A function's signature makes its JSON schema, and its docstring its description. A first parameter that is named
``state`` (or ``self``, of a method that is given as ``Shop.find_order``) gets the state of the case, and no model sees
it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

from agentgauge.core.errors import AgentGaugeError, ToolFault, UsageProblem
from agentgauge.core.function_tools.typed_schema import Shape, hints_of, object_schema, read_object, shape_of
from agentgauge.core.tools import SchemaTool, Tool, ToolBox, ToolOutput
from agentgauge.core.tracebacks import place_of
from agentgauge.core.types import Json

Function = Callable[..., Any]

_STATE = ("state", "self")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)


@dataclass(frozen=True, slots=True)
class FunctionTool(SchemaTool):
    """A function of this process."""

    is_run: ClassVar[bool] = True

    function: Function = print
    takes_state: bool = False
    shapes: Mapping[str, Shape] = field(default_factory=dict)

    def check(self, arguments: Mapping[str, Json]) -> None:
        self.converted(arguments)

    def converted(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """The arguments in the types of the function. Raises ValueError for what does not fit."""
        return read_object(self.shapes, self.schema["required"], dict(arguments))


def function_tool(function: Function) -> FunctionTool:
    """Make a tool from a function. Raises UsageProblem if its signature lacks something."""
    name = getattr(function, "__name__", "")
    if not callable(function) or not _NAME.fullmatch(name):
        raise UsageProblem(
            f"{function!r} is not a tool; give a Python function with a name of ASCII letters and digits"
        )
    title = f"the tool {name}"
    if not (description := inspect.getdoc(function)):
        raise UsageProblem(f"{title} lacks a docstring, which describes the tool to the model; write one")
    parameters = dict(inspect.signature(function).parameters)
    first = next(iter(parameters), "")
    takes_state = first in _STATE
    if takes_state:
        del parameters[first]
    hints = hints_of(function, title)
    for each in parameters.values():
        if each.kind in _STARS:
            raise UsageProblem(f"{title}: a model gives arguments by name, so {each} cannot be a parameter; name it")
        if each.name not in hints:
            raise UsageProblem(f"{title}: its parameter {each.name} lacks a type, so it has no JSON schema; write one")
    shapes = {each: shape_of(hints[each], f"{title}: its parameter {each}") for each in parameters}
    schema = object_schema(shapes, [each.name for each in parameters.values() if each.default is each.empty])
    for each in parameters.values():
        if each.default is not each.empty and each.default is not None:
            schema["properties"][each.name]["default"] = as_json(each.default)
    return FunctionTool(name, description, schema=schema, function=function, takes_state=takes_state, shapes=shapes)


def tools_of(tools: Iterable[Function | Mapping[str, Json] | Tool]) -> dict[str, Tool]:
    """Tools by name: real ones, functions, and OpenAI's function schemas, whose calls are not run.

    Raises UsageProblem.
    """
    found: dict[str, Tool] = {}
    for each in tools:
        tool = each if isinstance(each, Tool) else _tool_of(each)
        if tool.name in found:
            raise UsageProblem(f"two tools are named {tool.name}; a model could not tell them apart, so rename one")
        found[tool.name] = tool
    return found


def _tool_of(given: Function | Mapping[str, Json]) -> SchemaTool:
    return _of_schema(given) if isinstance(given, Mapping) else function_tool(given)


def _of_schema(given: Mapping[str, Json]) -> SchemaTool:
    function = given.get("function", given)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UsageProblem(
            f"{str(given)[:80]} is not a function schema; it must have a name, description and parameters"
        )
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(schema, Mapping):
        raise UsageProblem(f"the parameters of {function['name']} are {schema!r:.80}; give a JSON schema, an object")
    return SchemaTool(function["name"], function.get("description") or "", schema=schema)


class FunctionBox:
    """The functions of one case, with its state, beside the real tools of ``others``."""

    def __init__(self, tools: Mapping[str, Tool], state: Any, others: ToolBox | None = None) -> None:
        self._tools = tools
        self._state = state
        self._others = others

    async def catalog(self) -> Mapping[str, Tool]:
        return self._tools

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        """Call a function. Its result is text as it is, and any other value as JSON.

        Raises the function's ToolError. Any other exception of the function is a defect of the benchmark and becomes a
        ToolFault.
        """
        tool = self._tools[name]
        if not isinstance(tool, FunctionTool):
            assert self._others is not None, f"there is no tool server for {name}"
            return await self._others.call(name, arguments, folder=folder, readable=readable)
        try:
            given = tool.converted(arguments)
            result = tool.function(self._state, **given) if tool.takes_state else tool.function(**given)
            if inspect.isawaitable(result):
                result = await result
            text = result if isinstance(result, str) else json.dumps(as_json(result), ensure_ascii=False)
        except (AgentGaugeError, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # sys.exit, too
            kind = type(error).__name__
            raise ToolFault(
                f"the tool {name} raised {kind} at {place_of(error)}: {error}; raise ToolError for a mistake of the"
                " model, because any other exception counts as a defect of the benchmark",
                cause=f"{name}: {kind}",
            ) from error
        return (ToolOutput("text", text),)

    async def close(self) -> None:
        """Does nothing: the box holds no resource."""


def as_json(value: Any) -> Json:
    """Plain data: dataclasses as objects, Enums as their values, tuples and sets as lists, sets sorted.

    Raises TypeError for any other value, such as an object of a class of one's own.
    """
    match value:
        case Enum():
            return as_json(value.value)
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {_key(name): as_json(one) for name, one in value.items()}
        case list() | tuple():
            return [as_json(one) for one in value]
        case set() | frozenset():
            return sorted((as_json(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: as_json(getattr(value, each.name)) for each in dataclasses.fields(value)}
    raise TypeError(f"{type(value).__name__} is not plain data; use dataclasses, dicts, lists, texts and numbers")


def _key(name: Any) -> str:
    key = as_json(name)
    return key if isinstance(key, str) else json.dumps(key)
