"""The forms in which model families write calls: tags, marks, JSON and Python anywhere. Each reads from a position."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentgauge.agent.dialects.call_values import (
    Offered,
    arguments_of,
    calls_of,
    is_call,
    offered_name,
    on_offer,
    typed,
    types_of,
)
from agentgauge.agent.dialects.format import ParsedCall, as_json
from agentgauge.agent.dialects.python_reader import read_python
from agentgauge.agent.near_json import NoValue, decode, skip_blanks
from agentgauge.core.types import Json


@dataclass(frozen=True, slots=True)
class Found:
    """The calls of a form. ``framed``: all, as the model's own frame holds them; ``bare``: those on offer."""

    framed: list[ParsedCall]
    bare: list[ParsedCall]
    end: int


@dataclass(frozen=True, slots=True)
class Form:
    """A form of calls. ``read`` begins behind the ``opening``, a pattern; it raises NoValue where there is no call."""

    opening: str
    read: Callable[[str, int, Offered], Found]
    is_frame: Literal["always", "as the whole reply", "never"] = "always"


_SEPARATOR = re.compile(r"[\s,;]*")
_SURPLUS = re.compile(r"[\s}\]`]*")
_FENCE = re.compile(r"\s*(?:```\w*\s*)?")
_FUNCTION = re.compile(r"""["']?([^\s<>{}"']{1,200})["']?(?:>\s*|\s*(?=\{))""")
_NOTHING = re.compile(r"(?:null|None)?\s*(?=</function>|</tool_call>)")
_PARAMETER = re.compile(r"""<parameter=["']?([^<>\n"']{1,200})["']?>(?:\r?\n)?""")
_PARAMETER_END = re.compile(
    r"(?:\r?\n)?</parameter>(?=\s*(?:<parameter=|</function>|</tool_call>|\Z))|(?:\r?\n)?(?=</function>\s*(?:</tool_call>|\Z))"
)
_TOOL_NAME = re.compile(r"\s*(\w[^\s<>{}\[\]\"']{0,199})(?:\s*(?=<arg_key>|</tool_call>)|[ \t\r]*\n\s*(?=\{))")
_KEY = re.compile(r"<arg_key>([^<>]{1,200})</arg_key>\s*<arg_value>")
_KEY_END = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")
_NAMED = re.compile(r'[ \t]*([\w.-]+)[ \t\r]*\n\s*(?=\{|(?:null|"")\s*(?:<\||\Z))')
_DEEPSEEK_NAME = re.compile(r"\s*(?:function<｜tool▁sep｜>)?\s*([\w.-]+)\s*(?:<｜tool▁sep｜>|```\w*)\s*(?=\{)")
_DEEPSEEK_END = re.compile(r"\s*(?:```)?\s*(?:<｜tool▁call▁end｜>)?")
_CLOSED = ("<|", "```", "</")  # what may stand behind a value that lacks its closing brackets


def tag(name: str) -> Form:
    """A block between tags: JSON; as Qwen3-Coder writes it, ``<function=…>`` tags; or as GLM-4.5 does, a name and tags
    of arguments."""
    closing = f"</{name}>"

    def read(text: str, place: int, offered: Offered) -> Found:
        fence = _FENCE.match(text, place)
        start = fence.end() if fence else place
        if text.startswith("<function=", start):
            calls, end = [], start
            while text.startswith("<function=", end):
                one, end = _function(text, end + len("<function="), offered)
                calls.append(one)
                end = skip_blanks(text, end)
        elif text[start : start + 1] in ("{", "["):
            calls, end = _objects(text, start, offered, (closing,))
        else:
            one, end = _named(text, place, offered, closing)
            calls = [one]
        return Found(calls, on_offer(calls, offered), _behind(text, end, closing))

    return Form(re.escape(f"<{name}>"), read)


def _objects(text: str, place: int, offered: Offered, closing: tuple[str, ...]) -> tuple[list[ParsedCall], int]:
    """Calls in JSON, one behind the other."""
    calls: list[ParsedCall] = []
    start = place
    while text[start : start + 1] in ("{", "["):
        try:
            value, place = decode(text, start, closing)
        except NoValue:
            if calls:
                break
            raise
        calls += calls_of(value, offered, framed=True)
        separator = _SEPARATOR.match(text, place)
        start = separator.end() if separator else place
    if not calls:
        raise NoValue(place)
    return calls, place


def _behind(text: str, place: int, closing: str) -> int:
    """Behind the closing tag, if it is the next thing apart from surplus brackets."""
    surplus = _SURPLUS.match(text, place)
    end = surplus.end() if surplus else place
    return end + len(closing) if text.startswith(closing, end) else place


def _function(text: str, place: int, offered: Offered) -> tuple[ParsedCall, int]:
    """The call in a ``<function=…>`` tag: JSON, or tags of parameters."""
    opened = _FUNCTION.match(text, place)
    if not opened:
        raise NoValue(place)
    name, start = offered_name(opened[1], offered), opened.end()
    arguments: Json = {}
    if nothing := _NOTHING.match(text, start):
        end = nothing.end()
    elif text.startswith("<parameter=", start):
        arguments, end = _parameters(text, start, offered.get(name, {}), _PARAMETER, _PARAMETER_END)
    else:
        if text[start : start + 1] not in ("{", "[", '"'):
            raise NoValue(start)
        arguments, end = decode(text, start, ("</function>",))
    return ParsedCall(name, arguments_of(arguments)), _behind(text, end, "</function>")


def _named(text: str, place: int, offered: Offered, closing: str) -> tuple[ParsedCall, int]:
    """GLM's name with tags of arguments behind it, or an object; a name alone must be that of a tool."""
    named = _TOOL_NAME.match(text, place)
    if not named:
        raise NoValue(place)
    name, end = offered_name(named[1], offered), named.end()
    if text.startswith("{", end):
        arguments, end = decode(text, end, (closing,))
    else:
        arguments, end = _parameters(text, end, offered.get(name, {}), _KEY, _KEY_END)
    if not arguments and name not in offered:
        raise NoValue(end)
    return ParsedCall(name, as_json(arguments)), end


def _parameters(
    text: str, place: int, schemas: object, opening: re.Pattern[str], closing: re.Pattern[str]
) -> tuple[dict[str, Json], int]:
    """Values between tags, which escape nothing: a text ends at a closing tag before another tag of the block. Where
    that was forgotten, it ends before the line that opens another parameter of the tool."""
    given = schemas if isinstance(schemas, dict) else {}
    found: dict[str, Json] = {}
    while opened := opening.match(text, skip_blanks(text, place)):
        name, start = opened[1].strip(), opened.end()
        closed = closing.search(text, _behind_value(text, start, given.get(name)))
        if not closed:
            raise NoValue(len(text))
        end, place = closed.start(), closed.end()
        following = opening.search(text, start, end)
        if following and following[0].endswith("\n") and following[1] in given and following[1] not in (name, *found):
            before = start + len(text[start : following.start()].rstrip())
            if text.startswith(("\n", "\r"), before):
                end = place = before
        found[name] = typed(text[start:end], given.get(name))
    return found, place


def _behind_value(text: str, place: int, schema: object) -> int:
    """Behind the object or list at ``place``, as tags inside of it are text; ``place`` where there is none."""
    start = skip_blanks(text, place)
    if "string" in types_of(schema) or text[start : start + 1] not in ("{", "["):
        return place
    try:
        return decode(text, start)[1]
    except NoValue:
        return place


def _read_function(text: str, place: int, offered: Offered) -> Found:
    call, end = _function(text, place, offered)
    return Found([call], on_offer([call], offered), end)


def _read_python_tag(text: str, place: int, offered: Offered) -> Found:
    """JSON objects with semicolons between them, or ``name.call(…)`` as for Llama's own tools."""
    start = skip_blanks(text, place)
    if text[start : start + 1] == "{":
        calls, end = _objects(text, start, offered, _CLOSED)
    else:
        calls, end = read_python(text, start, offered)
        calls = [ParsedCall(call.name.removesuffix(".call"), call.arguments) for call in calls]
    return Found(calls, on_offer(calls, offered), end)


def _read_python(text: str, place: int, offered: Offered) -> Found:
    calls, end = read_python(text, place, offered)
    return Found(calls, on_offer(calls, offered), end)


def _read_line(text: str, place: int, offered: Offered) -> Found:
    """Calls that fill their lines."""
    found = _read_python(text, place, offered)
    rest = text[found.end : found.end + 200].partition("\n")[0]
    if rest.strip(" \t\r,;"):
        raise NoValue(found.end)
    return found


def _read_named(text: str, place: int, offered: Offered) -> Found:
    """GLM-4's name on a line, its arguments below."""
    named = _NAMED.match(text, place)
    if not named:
        raise NoValue(place)
    arguments, end = decode(text, named.end(), _CLOSED)
    call = ParsedCall(offered_name(named[1], offered), arguments_of(arguments))
    return Found([call], on_offer([call], offered), end)


def _read_deepseek(text: str, place: int, offered: Offered) -> Found:
    """A name and JSON in DeepSeek's tokens; the JSON may stand in a code fence, as the models before V3.1 write it."""
    named = _DEEPSEEK_NAME.match(text, place)
    if not named:
        raise NoValue(place)
    arguments, end = decode(text, named.end(), ("```", "<｜"))
    closed = _DEEPSEEK_END.match(text, end)
    call = ParsedCall(offered_name(named[1], offered), arguments_of(arguments))
    return Found([call], on_offer([call], offered), closed.end() if closed else end)


def _json(is_own: Callable[[Json], bool]) -> Form:
    """JSON anywhere. ``is_own``: whether the value, as the whole reply, is the family's own frame."""

    def read(text: str, place: int, offered: Offered) -> Found:
        value, end = decode(text, place, _CLOSED)
        bare = list(calls_of(value, offered, framed=False))
        return Found(list(calls_of(value, offered, framed=True)) if is_own(value) else bare, bare, end)

    return Form(r"(?=[\[{])", read, "as the whole reply")


_LINE = r"(?:^|(?<=</think>)|(?<=<\|assistant\|>))"
_PYTHON_NAME = r"[^\W\d][\w.-]*"
DEEPSEEK_TOKEN = Form("(?:<｜tool▁calls▁begin｜>)?<｜tool▁call▁begin｜>", _read_deepseek)
FUNCTION = Form("<function=", _read_function)
PYTHON_TAG = Form(r"<\|python_tag\|>", _read_python_tag)
GORILLA_MARK = Form(r"<<function>>\s*", _read_python)
PYTHON_LIST = Form(rf"(?=\[\s*{_PYTHON_NAME}[ \t]*\()", _read_python, "as the whole reply")
PYTHON_LINE = Form(rf"{_LINE} {{0,3}}(?={_PYTHON_NAME}\()", _read_line, "never")
NAMED_LINE = Form(rf"{_LINE}(?={_NAMED.pattern})", _read_named, "never")
JSON = _json(lambda value: False)
JSON_LIST = _json(lambda value: isinstance(value, list) and all(is_call(one) and "arguments" in one for one in value))
JSON_TOOL_CALLS = _json(lambda value: isinstance(value, dict) and isinstance(value.get("tool_calls"), list))
JSON_TYPED = _json(lambda value: is_call(value) and value.get("type") == "function")
