"""Calls as JSON values, and values of arguments written as bare text, read with the tools on offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgauge.agent.dialects.format import ParsedCall, as_json, value_of
from agentgauge.agent.near_json import NoValue, decode, skip_blanks
from agentgauge.core.types import Json

Offered = Mapping[str, Mapping[str, Any]]
"""The names of the tools on offer, with the schemas of their parameters in order."""

_ARGUMENTS = ("arguments", "parameters", "args", "input")
_NO_ARGUMENTS = ("type", "id", "index", "name", "function")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}


def offered_tools(tools: Iterable[Mapping[str, Any]]) -> Offered:
    """From OpenAI's function tools."""
    found = {}
    for tool in tools:
        schema = tool["function"].get("parameters")
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        found[tool["function"]["name"]] = properties if isinstance(properties, Mapping) else {}
    return found


def offered_name(name: str, offered: Offered) -> str:
    """The name, or its last part behind a dot where only that is on offer."""
    last = name.rpartition(".")[2]
    return last if name not in offered and last in offered else name


def on_offer(calls: Iterable[ParsedCall], offered: Offered) -> list[ParsedCall]:
    return [call for call in calls if call.name in offered]


def calls_of(value: Json, offered: Offered, *, framed: bool) -> Iterator[ParsedCall]:
    """The calls in a value: objects with a name and arguments, also in lists and in OpenAI's wrappings.

    ``framed``: the value stands where only a call can stand. Then a call may have an unknown name, and arguments that
    are no object: both are errors of the model. Elsewhere they make it data. The schema of a tool is never a call.
    """
    if isinstance(value, list):
        for item in value:
            yield from calls_of(item, offered, framed=framed)
    if not isinstance(value, dict):
        return
    name = value.get("name") or value.get("function")
    if not isinstance(name, str):
        for inner in ("tool_calls", "function", "function_call"):
            yield from calls_of(value.get(inner), offered, framed=framed)
        return
    name = offered_name(name, offered)
    is_data = _is_schema(value, framed=framed) or not (framed or name in offered)
    arguments = None if is_data else _arguments(value, framed=framed)
    if arguments is not None and (framed or isinstance(value_of(arguments), dict)):
        yield ParsedCall(name, arguments)


def is_call(value: Json) -> bool:
    """Whether the value has the form of a call and no other field."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and any(isinstance(value.get(key), dict) for key in _ARGUMENTS)
        and not set(value) - {*_ARGUMENTS, *_NO_ARGUMENTS}
    )


def _is_schema(value: Mapping[str, Json], *, framed: bool) -> bool:
    """Whether the value describes a tool; outside of a frame by its parameters alone, too."""
    if "description" in value and "arguments" not in value:
        return True
    given = value.get("parameters")
    if not isinstance(given, dict) or not given:
        return False
    if given.get("type") == "object" and (isinstance(given.get("properties"), dict) or "required" in given):
        return True
    return not framed and all(isinstance(one, dict) and {"type", "description"} <= set(one) for one in given.values())


def _arguments(call: Mapping[str, Json], *, framed: bool) -> str | None:
    """The arguments as JSON text: ``{}`` where there are none; None where they cannot be written.

    In a frame, fields beside the name are arguments. Elsewhere they make the object a record.
    """
    key = next((key for key in _ARGUMENTS if key in call), None)
    if key is None:
        given: Json = {name: value for name, value in call.items() if name not in _NO_ARGUMENTS}
        if given and not framed:
            return None
    else:
        given = call[key]
    if isinstance(given, str):
        given = text_value(given, given) if given.strip() else {}
    try:
        return given if isinstance(given, str) else as_json({} if given is None else given)
    except (TypeError, ValueError, RecursionError):
        return None


def text_value(text: str, otherwise: Json) -> Json:
    """The value that a whole text holds."""
    try:
        value, end = decode(text, skip_blanks(text, 0))
    except NoValue:
        return otherwise
    return value if not text[end:].strip() else otherwise


def typed(text: str, schema: object) -> Json:
    """An argument that was written without quotes, by the types of its schema: the text where they allow no other."""
    types = types_of(schema)
    if not types:
        return value_of(text)
    value = text if types <= {"string"} else text_value(text, text)
    if isinstance(value, tuple(kind for name in types for kind in _KINDS.get(name, ()))):
        return value
    return text


def types_of(schema: object) -> set[str]:
    """The types that a parameter's schema names."""
    if not isinstance(schema, Mapping):
        return set()
    given = schema.get("type")
    types = {one for one in (given if isinstance(given, list) else [given]) if isinstance(one, str)}
    choices = [schema.get(word) for word in ("anyOf", "oneOf")]
    return types.union(*(types_of(one) for choice in choices if isinstance(choice, list) for one in choice))
