"""Calls as JSON values, and values of arguments written as bare text, read with the tools on offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgauge.agent.dialects.format import ParsedCall, as_json, value_of
from agentgauge.agent.model_json import NoValue, decode, skip_blanks
from agentgauge.core.tools import resolved, type_names
from agentgauge.core.types import Json

Offered = Mapping[str, Mapping[str, Any]]
"""The names of the tools on offer, with the schemas of their parameters in order."""

_ARGUMENTS = ("arguments", "parameters", "args", "input")
_NO_ARGUMENTS = ("type", "id", "index", "name", "function")
_CHOICES = ("anyOf", "oneOf", "allOf")
_SCHEMA = {"type", "description", "title", "enum", "anyOf", "oneOf", "$ref"}  # fields of a parameter's schema
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_OTHER_NAMES = {
    **{"str": "string", "int": "integer", "long": "integer", "float": "number", "double": "number", "bool": "boolean"},
    **{"dict": "object", "list": "array", "tuple": "array", "none": "null"},
}


def offered_tools(tools: Iterable[Mapping[str, Any]]) -> Offered:
    """From OpenAI's function tools."""
    found = {}
    for tool in tools:
        root = tool["function"].get("parameters")
        schema = resolved(root, root)
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        named = properties if isinstance(properties, Mapping) else {}
        found[tool["function"]["name"]] = {name: _without_references(one, root) for name, one in named.items()}
    return found


def _without_references(schema: Any, root: Any) -> Any:
    """A parameter's schema with what it and its alternatives refer to."""
    schema = resolved(schema, root)
    if not isinstance(schema, Mapping):
        return schema
    lists = {word: schema[word] for word in _CHOICES if isinstance(schema.get(word), list)}
    return {**schema, **{word: [resolved(one, root) for one in given] for word, given in lists.items()}}


def offered_name(name: str, offered: Offered) -> str:
    """The name, or its last part behind a dot where only that is on offer."""
    last = name.rpartition(".")[2]
    return last if name not in offered and last in offered else name


def on_offer(calls: Iterable[ParsedCall], offered: Offered) -> list[ParsedCall]:
    return [call for call in calls if call.name in offered]


def calls_of(value: Json, offered: Offered, *, framed: bool) -> Iterator[ParsedCall]:
    """The calls in a value: objects with a name and arguments, also in lists, as JSON texts there, and in OpenAI's
    wrappings.

    ``framed``: the value stands where only a call can stand. Then a call may have an unknown name, and arguments that
    are no object: both are errors of the model. Elsewhere they make it data. The schema of a tool is never a call.
    """
    if isinstance(value, list):
        for item in value:
            held = text_value(item, item) if isinstance(item, str) else item
            yield from calls_of(held, offered, framed=framed)
    if not isinstance(value, dict):
        return
    key = _name_key(value, offered)
    if key is None:
        for inner in ("tool_calls", "function", "function_call"):
            yield from calls_of(value.get(inner), offered, framed=framed)
        return
    name, fields = offered_name(value[key], offered), {one: value[one] for one in value if one != key}
    known = offered.get(name, {})
    is_data = _is_schema(fields, known, framed=framed) or not (framed or name in offered)
    arguments = None if is_data else _arguments(fields, known, framed=framed)
    if arguments is not None and (framed or isinstance(value_of(arguments), dict)):
        yield ParsedCall(name, arguments)


def _name_key(call: Mapping[str, Any], offered: Offered) -> str | None:
    """Where the call's name stands: with a tool on offer, if there are two places."""
    keys = [key for key in ("name", "function") if isinstance(call.get(key), str) and call[key]]
    return next((key for key in keys if offered_name(call[key], offered) in offered), keys[0] if keys else None)


def is_call(value: Json) -> bool:
    """Whether the value has the form of a call and no other field."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and any(isinstance(value.get(key), dict) for key in _ARGUMENTS)
        and not set(value) - {*_ARGUMENTS, *_NO_ARGUMENTS}
    )


def _is_schema(fields: Mapping[str, Json], known: Mapping[str, Any], *, framed: bool) -> bool:
    """Whether the fields beside the name describe a tool; outside of a frame by the parameters alone, too."""
    described = "description" in fields and "description" not in known and not {"arguments", "input"} & set(fields)
    given = fields.get("parameters", fields.get("args"))
    if not isinstance(given, dict) or not given:
        return described and not given
    if given.get("type") == "object" and (isinstance(given.get("properties"), dict) or "required" in given):
        return True
    if described:
        is_empty = given == {"type": "object"} and "type" not in known
        return is_empty or all(isinstance(one, dict) and _SCHEMA & set(one) for one in given.values())
    return not framed and all(isinstance(one, dict) and {"type", "description"} <= set(one) for one in given.values())


def _arguments(fields: Mapping[str, Json], known: Mapping[str, Any], *, framed: bool) -> str | None:
    """The arguments as JSON text; None where they cannot be written.

    A field named as a parameter of the tool is an argument. In a frame, so are other fields beside the name; elsewhere
    they make the object a record.
    """
    key = next((key for key in _ARGUMENTS if key in fields and _holds_all(key, fields[key], known)), None)
    given: Json = {}
    if key is not None:
        given = fields[key]
    else:
        given = {one: value for one, value in fields.items() if one in known or one not in _NO_ARGUMENTS}
        if fields.get("type") == "function":
            given.pop("type", None)
        if given and not framed and not set(_ARGUMENTS) & set(given):
            return None
    try:
        return arguments_of(given)
    except (TypeError, ValueError, RecursionError):
        return None


def _holds_all(key: str, given: Json, known: Mapping[str, Any]) -> bool:
    """Whether a field holds all arguments, and is not one itself: then a parameter has its name."""
    if key not in known:
        return True
    value = text_value(given, given) if isinstance(given, str) else given
    return isinstance(value, dict) and bool(value) and set(value) <= set(known)


def arguments_of(given: Json) -> str:
    """Arguments as JSON text: of a text the value that it holds; ``{}`` for nothing, an empty text and null."""
    value = text_value(given, given) if isinstance(given, str) else given
    if value is None or (isinstance(value, str) and not value.strip()):
        return "{}"
    return value if isinstance(value, str) else as_json(value)


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
    return value if any(type(value) in _KINDS.get(name, ()) for name in types) else text  # a flag is no integer


def types_of(schema: object) -> set[str]:
    """The types that a parameter's schema names or, where it names none, those of its listed values."""
    if not isinstance(schema, Mapping):
        return set()
    names = [name.lower() for name in type_names(schema)]
    types = {_OTHER_NAMES.get(one, one) for one in names} - {"any"}
    choices = [one for word in _CHOICES if isinstance(schema.get(word), list) for one in schema[word]]
    listed = schema.get("enum") if isinstance(schema.get("enum"), list) else None
    if not (names or choices) and listed:
        return {name for name, kinds in _KINDS.items() for one in listed if type(one) in kinds}
    return types.union(*map(types_of, choices))
