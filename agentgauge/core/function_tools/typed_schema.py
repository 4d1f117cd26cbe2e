"""JSON schemas from Python types, and JSON values read back as these types."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Json

ACCEPTED = "str, int, float, bool, None, list[...], dict[str, ...], Literal, Enum, Optional, a dataclass or a TypedDict"


@dataclass(frozen=True, slots=True)
class Shape:
    """The JSON form of a type."""

    schema: Mapping[str, Json]
    title: str  # what a value must be: "a whole number"
    read: Callable[[Json, str], Any]
    """Converts a JSON value to the type. The text names the value in the ValueError for a value that does not fit."""


def shape_of(kind: Any, where: str, outer: tuple[Any, ...] = ()) -> Shape:
    """The shape of a type. ``where`` names it in messages; ``outer``: the objects that it is part of.

    Raises UsageProblem for a type without a JSON schema.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        shape = shape_of(inner[0], where, outer)
        texts = [each for each in inner[1:] if isinstance(each, str)]
        return dataclasses.replace(shape, schema={**shape.schema, "description": texts[0]}) if texts else shape
    if origin in (Required, NotRequired):
        return shape_of(inner[0], where, outer)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin in (Union, UnionType):
        return _either([shape_of(each, where, outer) for each in inner])
    if origin is Literal:
        return _choice({_as_json(each, where, kind): each for each in inner}, where, kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice({_as_json(each.value, where, kind): each for each in kind}, where, kind)
    if origin is list:
        return _list(shape_of(inner[0], where, outer))
    if origin is dict and inner[0] is str:
        return _dict(shape_of(inner[1], where, outer))
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or is_typeddict(kind)) and kind not in outer:
        return _object(kind, where, (*outer, kind))
    raise _no_schema(where, kind)


def hints_of(owner: Any, where: str) -> dict[str, Any]:
    """The annotations of a function or class as types. Raises UsageProblem for one that names nothing."""
    try:
        return get_type_hints(owner, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise UsageProblem(f"{where}: its annotations cannot be read ({error}); name types of its module") from None


def object_schema(properties: Mapping[str, Shape], required: Iterable[str]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {name: dict(shape.schema) for name, shape in properties.items()},
        "required": list(required),
    }


def read_object(
    properties: Mapping[str, Shape], required: Iterable[str], value: Json, where: str = ""
) -> dict[str, Any]:
    """The fields of an object, converted to their types. Raises ValueError for a field that is unknown, missing or of
    another type."""
    if not isinstance(value, dict):
        raise ValueError(f"{where or 'the arguments'} must be an object, not {_shown(value)}")
    place = f" of {where}" if where else ""
    if unknown := [name for name in value if name not in properties]:
        raise ValueError(
            f"unknown{place}: {', '.join(map(repr, unknown))}; there are {', '.join(properties) or 'none'}"
        )
    if missing := [name for name in required if name not in value]:
        raise ValueError(f"missing{place}: {', '.join(missing)}")
    return {name: properties[name].read(one, f"{where}.{name}" if where else name) for name, one in value.items()}


def _plain(name: str, title: str, *types: type) -> Shape:
    def read(value: Json, where: str) -> Any:
        fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if name == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)  # JSON does not tell 3.0 from 3
        if not fits:
            raise ValueError(f"{where} must be {title}, not {_shown(value)}")
        return float(value) if name == "number" else value

    return Shape({"type": name}, title, read)


def _anything(value: Json, where: str) -> Json:
    return value


_PLAIN: Mapping[Any, Shape] = {
    str: _plain("string", "a text", str),
    bool: _plain("boolean", "true or false", bool),
    int: _plain("integer", "a whole number", int),
    float: _plain("number", "a number", int, float),
    NoneType: _plain("null", "null", NoneType),
    None: _plain("null", "null", NoneType),
    list: _plain("array", "a list", list),
    dict: _plain("object", "an object", dict),
    Any: Shape({}, "any value", _anything),
}


def _either(shapes: list[Shape]) -> Shape:
    title = " or ".join(shape.title for shape in shapes)

    def read(value: Json, where: str) -> Any:
        problems = []
        for shape in shapes:
            try:
                return shape.read(value, where)
            except ValueError as problem:
                problems.append(str(problem))
        # of an object or null, what is wrong inside of the object says more
        inside = [problem for problem in problems if not problem.startswith(f"{where} must be ")]
        raise ValueError(inside[0] if inside else f"{where} must be {title}, not {_shown(value)}")

    return Shape({"anyOf": [dict(shape.schema) for shape in shapes]}, title, read)


def _choice(known: Mapping[str, Any], where: str, kind: Any) -> Shape:
    """One of several JSON values: ``known`` has them as JSON text."""
    values = [json.loads(text) for text in known]
    types = {type(value): name for value in values for name, each in _SCALARS.items() if type(value) is each}
    if not values or len({*map(type, values)} - {*types}):
        raise _no_schema(where, kind)
    title = "one of " + ", ".join(known)
    schema: dict[str, Json] = {"enum": values}
    if len(types) == 1:
        schema = {"type": next(iter(types.values())), **schema}

    def read(value: Json, where: str) -> Any:
        try:
            return known[json.dumps(value)]
        except (KeyError, ValueError):
            raise ValueError(f"{where} must be {title}, not {_shown(value)}") from None

    return Shape(schema, title, read)


_SCALARS: Mapping[str, type] = {"string": str, "boolean": bool, "integer": int, "number": float, "null": NoneType}


def _list(item: Shape) -> Shape:
    def read(value: Json, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{where} must be a list, not {_shown(value)}")
        return [item.read(one, f"{where}[{place}]") for place, one in enumerate(value)]

    return Shape({"type": "array", "items": dict(item.schema)}, "a list", read)


def _dict(item: Shape) -> Shape:
    def read(value: Json, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{where} must be an object, not {_shown(value)}")
        return {name: item.read(one, f"{where}.{name}") for name, one in value.items()}

    return Shape({"type": "object", "additionalProperties": dict(item.schema)}, "an object", read)


def _object(kind: Any, where: str, outer: tuple[Any, ...]) -> Shape:
    """A dataclass or a TypedDict."""
    hints = hints_of(kind, where)
    if dataclasses.is_dataclass(kind):
        listed = [field for field in dataclasses.fields(kind) if field.init]
        hints = {field.name: hints[field.name] for field in listed}
        bare = (dataclasses.MISSING, dataclasses.MISSING)
        required = [field.name for field in listed if (field.default, field.default_factory) == bare]
    else:
        # in text, as annotations of the future are, __required_keys__ overlooks NotRequired
        named = {name: get_origin(hint) for name, hint in hints.items()}
        required = [
            name
            for name, origin in named.items()
            if origin is Required or (origin is not NotRequired and name in kind.__required_keys__)
        ]
    properties = {name: shape_of(each, f"{where}.{name}", outer) for name, each in hints.items()}

    def read(value: Json, where: str) -> Any:
        return kind(**read_object(properties, required, value, where))

    return Shape(object_schema(properties, required), "an object", read)


def _as_json(value: Any, where: str, kind: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise _no_schema(where, kind) from None


def _no_schema(where: str, kind: Any) -> UsageProblem:
    shown = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return UsageProblem(f"{where} has the type {shown}, which has no JSON schema; use {ACCEPTED}")


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
