"""Plain data from files, settings and servers, checked against pydantic models, and the one sentence that says what is
wrong with it.

A model derives from ``Checked``: it is immutable, refuses unknown fields and converts nothing (an integer may stand for
a number). A frozen dataclass with ``__pydantic_config__ = STRICT`` does the same where code makes instances, too; its
data must be what JSON can hold. Validators
of fields raise ``ValueError`` with what is accepted, which goes on after "must be": ``raise ValueError("the name of an
environment variable")``. A field with ``Field(repr=False)`` may hold a secret, so no message shows its value; one with
``Field(examples=[...])`` gets its first example into messages.

Importing this module loads pydantic, which costs 0.2 s: import it in the function that reads, where pytest without a
benchmark would load it too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from agentgauge.core.errors import AgentGaugeError, UsageProblem, did_you_mean
from agentgauge.core.redaction import redact

T = TypeVar("T")

SHOWN = 60
"""Characters of a refused value that a message has."""


STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Checked(BaseModel):
    """Base of models whose data people write."""

    model_config = STRICT | ConfigDict(frozen=True)


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
    adapter: TypeAdapter[T] = _adapter(model)  # type: ignore[arg-type]
    try:
        if is_dataclass(model) and hasattr(model, "__pydantic_config__"):
            # strictly, pydantic takes objects for dataclasses and lists for tuples from JSON alone
            return adapter.validate_json(json.dumps(value, default=str))
        return adapter.validate_python(value)
    except ValidationError as error:
        raise ValueError(reason(error, value, model)) from None


def reason(error: ValidationError, data: Any, model: Any = None) -> str:
    """What is wrong first: where it is, the value, and what is accepted."""
    first, *more = error.errors(include_url=False)
    place, value = _followed(data, first["loc"])
    name = ".".join(place)[:200]
    known = [*_fields(model, first["loc"])] if model is not None else []
    if first["type"] == "missing":
        described = f" ({known[-1].description})" if known and known[-1] and known[-1].description else ""
        return f"it has no {'.'.join([*place, str(first['loc'][-1])])[:200]}{described}"
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        names, unknown = _names(model, first["loc"][:-1]), str(first["loc"][-1])
        accepted = f"; accepted are {', '.join(names)}{did_you_mean(unknown, names)}" if names else ""
        around = place[:-1] if place[-1:] == [unknown] else place
        return f"{'.'.join(around)[:200] or 'it'} has no {unknown[:200]!r}{accepted}"
    same = dict.fromkeys(_accepted(one) for one in (first, *more) if _followed(data, one["loc"])[0] == place)
    if {"a number", "a finite number"} & same.keys():
        same.pop("an integer", None)
    wanted = f"must be {' or '.join(same)}"
    if known and known[-1] and known[-1].examples:
        wanted += f", for example {known[-1].examples[0]}"
    if any(field is not None and not field.repr for field in known):
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
    context = {key: _number(value) for key, value in error.get("ctx", {}).items()}
    if (words := _KINDS.get(error["type"])) is not None:
        return words.format(**context)
    text: str = error["msg"]
    return text.removeprefix("Value error, ").removeprefix("Input should be ")


def _number(value: Any) -> Any:
    return f"{value:g}" if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 10**9) else value


def _followed(data: Any, way: Sequence[int | str]) -> tuple[list[str], Any]:
    """The way as far as it leads in the data, and the value there. The rest of a way names an alternative of a type, or
    what is missing."""
    place = []
    for part in way:
        if (isinstance(data, dict) and part in data) or (
            isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        ):
            data = data[part]  # type: ignore[index]
            place.append(str(part) or '""')
        else:
            break
    return place, data


def _fields(model: Any, way: Sequence[int | str]) -> Iterator[FieldInfo | None]:
    """The field of each part of a way; None for what is no field: an index, a key."""
    for part in way:
        field = _known(model).get(str(part))
        yield field
        model = field.annotation if field is not None else _inner(model)


def _names(model: Any, way: Sequence[int | str]) -> list[str]:
    """The fields of the model at a place."""
    for part in way:
        field = _known(model).get(str(part))
        model = field.annotation if field is not None else _inner(model)
    return [*_known(model)]


def _known(kind: Any) -> Mapping[str, FieldInfo]:
    """The fields, by their names in the data, of the model in a type such as ``Model | None``."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {field.alias or name: field for name, field in kind.model_fields.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {each.name: FieldInfo.from_annotation(hints[each.name]) for each in fields(kind) if each.init}
    if is_typeddict(kind):
        hints = get_type_hints(kind)  # without Required, NotRequired and what Annotated adds
        return {name: FieldInfo.from_annotation(hint) for name, hint in hints.items()}
    if get_origin(kind) in _CONTAINERS:
        return {}
    return next(filter(None, map(_known, get_args(kind))), {})


_CONTAINERS = (dict, list, tuple, Mapping, Sequence)


def _inner(kind: Any) -> Any:
    """The type of the values of a list or dict."""
    if get_origin(kind) in _CONTAINERS:
        return next((one for one in reversed(get_args(kind)) if one is not ...), None)
    return next(filter(None, map(_inner, get_args(kind))), None)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
