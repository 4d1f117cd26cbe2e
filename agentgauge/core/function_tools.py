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
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from typing_extensions import TypedDict, is_typeddict

from agentgauge.core.checking import STRICT, reason
from agentgauge.core.errors import AgentGaugeError, ToolFault, UsageProblem
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
    arguments: Any = Any
    """A type that pydantic knows."""

    def check(self, arguments: Mapping[str, Json]) -> None:
        self.converted(arguments)

    def converted(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """The arguments in the types of the function. Raises ValueError for what does not fit."""
        given = _with_integers(dict(arguments))
        try:
            found: dict[str, Any] = TypeAdapter(self.arguments).validate_json(json.dumps(given))
        except ValidationError as error:
            raise ValueError(reason(error, given, self.arguments)) from None
        return found


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
    hints = _hints_of(function, title)
    for each in parameters.values():
        if each.kind in _STARS:
            raise UsageProblem(f"{title}: a model gives arguments by name, so {each} cannot be a parameter; name it")
        if each.name not in hints:
            raise UsageProblem(
                f"{title}: its parameter {each.name} lacks a type; write one, such as `{each.name}: str`"
            )
    required = [each.name for each in parameters.values() if each.default is each.empty]
    kinds = {each: _prepared(hints[each], f"{title}: its parameter {each}") for each in parameters}
    arguments = _object("arguments", kinds, required)
    schema = {"required": [], **_schema_of(arguments, kinds, title)}
    for each in parameters.values():
        if each.default is not each.empty and each.default is not None:
            schema["properties"][each.name]["default"] = as_json(each.default)
    return FunctionTool(
        name, description, schema=schema, function=function, takes_state=takes_state, arguments=arguments
    )


ACCEPTED = "str, int, float, bool, None, list[...], dict[str, ...], Literal, Enum, Optional, a dataclass or a TypedDict"


def _prepared(kind: Any, where: str, outer: tuple[Any, ...] = ()) -> Any:
    """The type as pydantic reads it: the first text of ``Annotated`` describes it, and dataclasses and TypedDicts
    refuse unknown fields. ``where`` names it in messages; ``outer``: the objects that it is part of."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        text = next((each for each in inner[1:] if isinstance(each, str)), None)
        notes = (*(each for each in inner[1:] if not isinstance(each, str)), Field(description=text))
        return Annotated[(_prepared(inner[0], where, outer), *notes)]
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or is_typeddict(kind)):
        if kind in outer:
            raise _no_schema(where, kind)
        hints = {name: _bare(hint) for name, hint in _hints_of(kind, where).items()}
        fields = {name: _prepared(hints[name], f"{where}.{name}", (*outer, kind)) for name in _fields_of(kind, hints)}
        made = _object(kind.__name__, fields, _required_of(kind))
        return Annotated[made, AfterValidator(lambda given: kind(**given))] if dataclasses.is_dataclass(kind) else made
    if not inner or origin is Literal:
        return kind
    parts = tuple(_prepared(each, where, outer) for each in inner)
    return Union[parts] if origin in (Union, UnionType) else origin[parts]  # noqa: UP007 - of a tuple


def _object(name: str, kinds: Mapping[str, Any], required: Container[str]) -> Any:
    """A type for JSON objects without further fields."""
    fields = {each: Required[kind] if each in required else NotRequired[kind] for each, kind in kinds.items()}
    made: Any = TypedDict(name, fields)  # type: ignore[misc]
    made.__pydantic_config__ = STRICT  # type: ignore[attr-defined]
    return made


def _fields_of(kind: Any, hints: Mapping[str, Any]) -> list[str]:
    return [each.name for each in dataclasses.fields(kind) if each.init] if dataclasses.is_dataclass(kind) else [*hints]


def _required_of(kind: Any) -> list[str]:
    if dataclasses.is_dataclass(kind):
        bare = (dataclasses.MISSING, dataclasses.MISSING)
        return [each.name for each in dataclasses.fields(kind) if (each.default, each.default_factory) == bare]
    # in text, as annotations of the future are, __required_keys__ overlooks NotRequired
    named = {name: get_origin(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}
    return [
        name
        for name, origin in named.items()
        if origin is Required or (origin is not NotRequired and name in kind.__required_keys__)
    ]


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint


def _hints_of(owner: Any, where: str) -> dict[str, Any]:
    """The annotations of a function or class as types. Raises UsageProblem for one that names nothing."""
    try:
        return get_type_hints(owner, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise UsageProblem(f"{where}: its annotations cannot be read ({error}); name types of its module") from None


def _schema_of(arguments: Any, kinds: Mapping[str, Any], title: str) -> dict[str, Json]:
    """The JSON schema as endpoints take it: without titles and references."""
    for name, kind in kinds.items():
        try:
            TypeAdapter(kind).json_schema()
        except (PydanticUserError, TypeError):
            raise _no_schema(f"{title}: its parameter {name}", kind) from None
    schema = TypeAdapter(arguments).json_schema()
    try:
        return _plain_schema(schema, schema.get("$defs", {}))
    except RecursionError:
        raise UsageProblem(f"{title}: a parameter has a type that holds itself, which has no JSON schema") from None


def _plain_schema(node: Mapping[str, Json], defined: Mapping[str, Json]) -> dict[str, Json]:
    if "$ref" in node:
        node = {**defined[node["$ref"].rpartition("/")[2]], **{name: node[name] for name in node if name != "$ref"}}
    found: dict[str, Json] = {"type": node["type"]} if "type" in node else {}
    for name, value in node.items():
        if name == "properties":
            found[name] = {each: _plain_schema(one, defined) for each, one in value.items()}
        elif name == "const":
            found["enum"] = [value]
        elif name in ("items", "additionalProperties") and isinstance(value, Mapping):
            found[name] = _plain_schema(value, defined)
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            found[name] = [_plain_schema(one, defined) for one in value]
        elif name not in ("title", "$defs", "additionalProperties"):
            found[name] = value
    return found


def _no_schema(where: str, kind: Any) -> UsageProblem:
    shown = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return UsageProblem(f"{where} has the type {shown}, which has no JSON schema; use {ACCEPTED}")


def _with_integers(value: Json) -> Json:
    """Whole numbers as integers: JSON does not tell 3.0 from 3."""
    if isinstance(value, dict):
        return {name: _with_integers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_integers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


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
    raise TypeError(f"{type(value).__name__} is not plain data; use dataclasses, dicts, lists, strings and numbers")


def _key(name: Any) -> str:
    key = as_json(name)
    return key if isinstance(key, str) else json.dumps(key)
