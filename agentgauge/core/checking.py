"""Plain data from files, settings and servers, checked against pydantic models, and the one sentence that says what is
wrong with it.

A model of ours derives from ``Checked``: it is immutable, refuses unknown fields and converts nothing (an integer may
stand for a number). Validators of fields raise ``ValueError`` with what is accepted, which goes on after "must be":
``raise ValueError("the name of an environment variable")``. A field with ``Field(repr=False)`` may hold a secret, so no
message shows its value; one with ``Field(examples=[...])`` gets its first example into messages.

Importing this module loads pydantic, which costs 0.2 s: import it in the function that reads, where pytest without a
benchmark would load it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from agentgauge.core.errors import AgentGaugeError, UsageProblem, did_you_mean
from agentgauge.core.redaction import redact

T = TypeVar("T")

SHOWN = 60
"""Characters of a refused value that a message has."""


class Checked(BaseModel):
    """Base of models whose data people write."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def read(model: type[T], value: Any, what: str, *, error: type[AgentGaugeError] = UsageProblem) -> T:
    """An instance of a model, or of any type that pydantic knows, from plain data.

    ``what`` begins the sentence of the error and names what was read: ``agentgauge.toml: [agent]``. Raises ``error``.
    """
    try:
        return validate(model, value)
    except ValueError as problem:
        raise error(f"{what}: {problem}") from None


def validate(model: type[T], value: Any) -> T:
    """As ``read``. Raises ValueError, whose text has no subject: ``seconds is "ten" and must be a number``."""
    try:
        found: T = _adapter(model).validate_python(value)
    except ValidationError as error:
        raise ValueError(reason(error, value, model)) from None
    return found


def reason(error: ValidationError, data: Any, model: Any = None) -> str:
    """What is wrong first: where it is, the value, and what is accepted."""
    first, *more = error.errors(include_url=False)
    place, value = _followed(data, first["loc"])
    name = ".".join(place)[:200]
    fields = [*_fields(model, first["loc"])] if model is not None else []
    if first["type"] == "missing":
        described = f" ({fields[-1].description})" if fields and fields[-1] and fields[-1].description else ""
        return f"it has no {'.'.join([*place, str(first['loc'][-1])])[:200]}{described}; add it"
    if first["type"] == "extra_forbidden":
        known = _names(model, first["loc"][:-1])
        accepted = f"; accepted are {', '.join(known)}{did_you_mean(place[-1], known)}" if known else ""
        return f"there is no {name!r}{accepted}"
    same = [_accepted(one) for one in (first, *more) if _followed(data, one["loc"])[0] == place]
    wanted = f"must be {' or '.join(dict.fromkeys(same))}"
    if fields and fields[-1] and fields[-1].examples:
        wanted += f", for example {fields[-1].examples[0]}"
    if any(field is not None and not field.repr for field in fields):
        return f"{name or 'it'} {wanted}"
    return f"{name or 'it'} is {shown(value)} and {wanted}"


def shown(value: Any) -> str:
    """A refused value, shortened, without secrets. Lists and objects are named and not shown."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = redact(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


_KINDS = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "none_required": "null",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
    "dataclass_type": "an object",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def _accepted(error: Any) -> str:
    """What one error of pydantic says is accepted."""
    context = {key: f"{value:g}" if isinstance(value, float) else value for key, value in error.get("ctx", {}).items()}
    if (words := _KINDS.get(error["type"])) is not None:
        return words.format(**context)
    text: str = error["msg"]
    return text.removeprefix("Value error, ").removeprefix("Input should be ")


def _followed(data: Any, way: Sequence[int | str]) -> tuple[list[str], Any]:
    """The way as far as it leads in the data, and the value there. The rest of a way names an alternative of a type, or
    what is missing."""
    place = []
    for part in way:
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        ):
            data = data[part]
            place.append(str(part) or '""')
        else:
            break
    return place, data


def _fields(model: Any, way: Sequence[int | str]) -> Iterator[FieldInfo | None]:
    """The field of each part of a way; None for what is no field: an index, a key."""
    for part in way:
        field = _field(model, part)
        yield field
        model = field.annotation if field is not None else _inner(model)


def _names(model: Any, way: Sequence[int | str]) -> list[str]:
    """The fields of the model at a place."""
    for part in way:
        field = _field(model, part)
        model = field.annotation if field is not None else _inner(model)
    return [one.alias or name for name, one in owner.model_fields.items()] if (owner := _model(model)) else []


def _field(model: Any, part: int | str) -> FieldInfo | None:
    named = owner.model_fields.items() if (owner := _model(model)) else ()
    return next((field for name, field in named if part in (name, field.alias)), None)


def _model(kind: Any) -> type[BaseModel] | None:
    """The model in a type such as ``Model | None``."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    if get_origin(kind) in (dict, list, tuple):
        return None
    return next(filter(None, map(_model, get_args(kind))), None)


def _inner(kind: Any) -> Any:
    """The type of the values of a list or dict."""
    if get_origin(kind) in (dict, list, tuple):
        return next((one for one in reversed(get_args(kind)) if one is not ...), None)
    return next(filter(None, map(_inner, get_args(kind))), None)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
