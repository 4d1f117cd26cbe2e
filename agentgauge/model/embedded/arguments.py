"""Arguments that ``baseline`` copies from the question, the results so far and the files, by type and name of each
parameter. Values are taken in the order in which they stand in the question, each once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentgauge.core.text import parse_json
from agentgauge.model.embedded import deliverables, values
from agentgauge.model.embedded.sums import expression_for
from agentgauge.model.embedded.view import OfferedTool, Parameter, RequestView
from agentgauge.model.embedded.words import numbers, quotations, stems, stems_of_name

EXPRESSIONS = ("expression", "equation", "formula")
FILE_WORDS = ("image", "picture", "photo", "audio", "video", "file", "path")

_PRODUCED = re.compile(r"\[?(?:image|audio|file|video)\]?\(([^)\n]+)\)")
_FREE = re.compile(
    r"text|query|question|instruct|content|prompt|keyword|attribute|message|body|description|search|topic|subject|note"
    r"|term|theorem",
    re.IGNORECASE,
)
"""Names of parameters that take what the user wrote as it is."""
_LONGEST = 10_000  # characters of a question that are looked at
_WORDS = re.compile(r"\w+")
_NO = re.compile(r"\b(?:no|not|without|off|never|private|don't|except|leave out)\b", re.IGNORECASE)
_FROM = re.compile(r"from|origin|source|start|depart", re.IGNORECASE)
_TO = re.compile(r"to$|to_|destination|target|arriv|recipient", re.IGNORECASE)
_CODE_NAME = re.compile(r"(?:^|_)(?:id|number|code|no|key|article)$|Id$|Number$|Code$")


_T = TypeVar("_T")


@dataclass(slots=True)
class _Source:
    """What arguments are taken from, and what was taken."""

    view: RequestView
    text: str
    taken: list[Any] = field(default_factory=list)

    def next(self, found: Sequence[_T]) -> _T:
        """The first value that was not taken, else the last one."""
        value = next((value for value in found if value not in self.taken), found[-1])
        self.taken.append(value)
        return value


def fill(tool: OfferedTool, view: RequestView) -> tuple[dict[str, Any], list[str]]:
    """The arguments, and the names of the required ones for which there is nothing."""
    found: dict[str, Any] = {}
    source = _Source(view, view.query[:_LONGEST])
    for parameter in tool.parameters:
        value = _value(tool, parameter, source)
        if value is not None:
            found[parameter.name] = value
    return found, [one.name for one in tool.parameters if one.is_required and one.name not in found]


def repeated(arguments: Mapping[str, Any], query: str) -> list[dict[str, Any]]:
    """The arguments once for each item of a list that one of them is taken from: Oslo, Lisbon and Nairobi."""
    for items in values.listed(query):
        for name, value in arguments.items():
            others = [other for key, other in arguments.items() if key != name]
            if value in items and not any(other in items for other in others if isinstance(other, str)):
                return [{**arguments, name: item} for item in items]
    return [dict(arguments)]


def _value(tool: OfferedTool, parameter: Parameter, source: _Source) -> Any:
    view, low = source.view, parameter.name.lower()
    last = view.observations[-1] if view.observations else ""
    kind = parameter.type
    if parameter.choices:
        return _choice(parameter, source)
    if kind in ("boolean", "bool"):
        return _truth(parameter, source.text)
    if kind in ("integer", "number", "float", "int"):
        return _quantity(parameter, source)
    if kind == "object":
        return _object(tool, parameter, source)
    if kind == "array":
        return _items(tool, parameter, source)
    if (stated := _stated(parameter, source)) is not None or not parameter.is_required:
        return stated
    if (made := deliverables.value(tool, parameter.name, view)) is not None:
        return made
    if any(word in low for word in FILE_WORDS):
        return (_PRODUCED.findall(last) or view.files or ("missing",))[0]
    if low == "bbox":
        box = (numbers(last) or numbers(view.query))[:4]
        return f"({', '.join(box)})" if len(box) == 4 else "(0, 0, 100, 100)"
    if low in EXPRESSIONS:
        return expression_for(view.query, last)
    if low in ("command", "code"):
        return deliverables.program(tool, expression_for(view.query, last), numbers(last) or numbers(view.query))
    if low in ("position", "color"):
        return {"position": "mt", "color": "red"}[low]
    return _text(parameter, source)


def _choice(parameter: Parameter, source: _Source) -> Any:
    """The choice that the question names: the first one that was not taken."""
    said = f" {' '.join(_WORDS.findall(source.text.lower()))} "
    asked = stems(source.text)
    named = []
    for choice in parameter.choices:
        words = " ".join(_WORDS.findall(str(choice).lower().replace("_", " ")))
        place = said.find(f" {words} ")
        if place >= 0 or (stems(words) and stems(words) <= asked):
            named.append((place if place >= 0 else len(said), choice))
    named.sort(key=lambda item: item[0])
    return source.next([choice for _, choice in named]) if named else None


def _truth(parameter: Parameter, text: str) -> bool | None:
    """Whether the question has a word of the name; false if it says no in front of it."""
    wanted = stems_of_name(parameter.name)
    for clause in re.split(r"[,.;:?!]\s|\band\b|\bbut\b", text):
        if wanted & stems(clause):
            return not _NO.search(clause)
    return False if parameter.is_required else None


def _quantity(parameter: Parameter, source: _Source) -> int | float | None:
    """The number beside a word of the name or of the description; for a required one the next number of all."""
    found = [(value, stems(f"{before} {behind}")) for value, before, behind in values.quantities(source.text)]
    whole = [item for item in found if parameter.type not in ("integer", "int") or isinstance(item[0], int)]
    for words in (stems_of_name(parameter.name), stems(parameter.description)):
        near = [value for value, beside in whole if beside & words and value not in source.taken]
        if near:
            return source.next(near)
    if not parameter.is_required:
        return None
    value = _from_results(parameter.name, source.view)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    fresh = [value for value, _ in whole if value not in source.taken]
    return source.next(fresh) if fresh else None


def _object(tool: OfferedTool, parameter: Parameter, source: _Source) -> Any:
    value = _from_results(parameter.name, source.view)
    if isinstance(value, dict):
        return value
    members = {one.name: _value(tool, one, source) for one in parameter.members}
    found = {name: value for name, value in members.items() if value is not None}
    return found if found and all(one.name in found for one in parameter.members if one.is_required) else None


def _items(tool: OfferedTool, parameter: Parameter, source: _Source) -> list[Any] | None:
    """A list that the question has, of choices, numbers, codes or names; else its only one."""
    lists = values.listed(source.text)
    item = parameter.item
    found: list[Any]
    if item and item.choices:
        asked = stems(source.text)
        found = [one for one in item.choices if stems(str(one)) and stems(str(one)) <= asked]
    elif item and item.type in ("object", "array", "boolean"):
        found = [one] if (one := _value(tool, item, source)) is not None else []
    elif item and item.type in ("integer", "number"):
        found = [value for value, _, _ in values.quantities(source.text)]
    elif _CODE_NAME.search(parameter.name.rstrip("s")):
        found = values.codes(source.text) or _all_from_results(parameter.name.rstrip("s"), source.view)
    elif lists:
        found = lists[0]
    else:
        found = quotations(source.text)[:1] or values.names(source.text)[:1]
    return found if found and (parameter.is_required or stems_of_name(parameter.name) & stems(source.text)) else None


def _stated(parameter: Parameter, source: _Source) -> Any:
    """A value that is known by its form: a day, a time, an address, a colour. None if the question has none."""
    meaning = f"{parameter.name} {parameter.description}".lower()
    view = source.view
    day = "yyyy-mm-dd" in meaning or bool(re.search(r"\bdate\b|_date\b", meaning))
    clock = bool(re.search(r"hh:mm|\btime\b", meaning))
    if day:
        today = values.day_of(view.system)
        found = values.dates(source.text, today) or (values.dates(view.earlier, today) if parameter.is_required else [])
        hours = values.times(source.text) if clock else []
        joint = "T" if "t" in meaning.partition("dd")[2][:1] else " "
        return f"{found[0]}{joint}{hours[0]}" if found and hours else _one(found, parameter, source)
    if clock:
        return _one(values.times(source.text), parameter, source)
    if "mail" in meaning and (address := values.EMAIL.search(source.text)):
        return address[0]
    if parameter.name.lower() == "color" and (colour := values.COLOUR.search(source.text)):
        return colour[1].lower()
    return None


def _one(found: Sequence[_T], parameter: Parameter, source: _Source) -> _T | None:
    """The next of what was found; one that was taken serves a required parameter alone."""
    if not found or (not parameter.is_required and all(value in source.taken for value in found)):
        return None
    return source.next(found)


def _text(parameter: Parameter, source: _Source) -> str | None:
    """A quotation; what stands behind from or to; a code for a number of something, else a name; of the question, of
    the results under the parameter's name, or of what was said before. Free text is the question itself."""
    view = source.view
    if _CODE_NAME.search(parameter.name):
        return _code(parameter.name, source)
    if quoted := [one for one in quotations(source.text) if one not in source.taken]:
        return str(source.next(quoted))
    if _FREE.search(parameter.name):
        return " ".join(source.text.split())
    for text in (source.text, view.earlier):
        for words, before in ((_FROM, "from"), (_TO, "to|for")):
            if words.search(parameter.name) and (behind := re.search(rf"\b(?:{before}) ({values.NAME})", text)):
                source.taken.append(behind[1])
                return behind[1]
        wanted = stems_of_name(parameter.name) - {"name"}
        for name in sorted(wanted):
            if beside := re.search(rf"\b{name}\w* ({values.NAME})|({values.NAME}) {name}", text):
                return str(source.next([beside[1] or beside[2]]))
        if fresh := [name for name in values.names(text) if name not in source.taken]:
            return str(source.next(fresh))
    found = _all_from_results(parameter.name, view)
    return str(found[0]) if found and isinstance(found[0], str) else None


def _code(name: str, source: _Source) -> str | None:
    """The code behind a word of the name, else the next one that the question has, else what results or earlier
    questions have."""
    for word in sorted(stems_of_name(name) - {"id", "numb", "cod", "no", "key"}):
        if beside := re.search(
            rf"\b{word}\w*(?: (?:is|no|number))? ({values.CODE.pattern})", source.text, re.IGNORECASE
        ):
            return str(source.next([beside[1]]))
    fresh = [code for code in values.codes(source.text) if code not in source.taken]
    found = fresh or _all_from_results(name, source.view) or values.codes(source.view.earlier)
    return str(source.next(found)) if found else None


# -- results of earlier calls


def _from_results(name: str, view: RequestView) -> Any:
    """What the newest result that has it gives under the name."""
    return next(iter(_all_from_results(name, view)), None)


def _all_from_results(name: str, view: RequestView) -> list[Any]:
    for observation in reversed(view.observations):
        if observation.startswith(("{", "[")):
            try:
                found = [value for key, value in _fields(parse_json(observation)) if key == name]
            except ValueError:
                continue
            if found:
                return found
    return []


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    waiting = [value]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict):
            yield from one.items()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one[:20]
