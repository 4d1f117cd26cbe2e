"""Finds the calls in a reply, whatever stands around them, for ``--scoring strict``: in the forms in which model
families write them, tags, marks, JSON and Python anywhere. Each form reads from a position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from agentgauge.agent.dialects.call_values import (
    Offered,
    arguments_of,
    calls_of,
    is_call,
    offered_name,
    offered_tools,
    on_offer,
    typed,
    types_of,
)
from agentgauge.agent.dialects.format import ParsedCall, ParsedReply, as_json
from agentgauge.agent.dialects.pycalls import read_python
from agentgauge.agent.model_json import Budget, NoValue, TooDeep, decode, skip_blanks
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
    r"(?:\r?\n)?</parameter>(?=\s*(?:<parameter=|</function>|</tool_call>|\Z))"
    r"|(?:\r?\n)?(?=</function>\s*(?:</tool_call>|\Z))"
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


_CLOSE = "</think>"
_SIGN = re.compile(r"\S")
_MARKS = (
    rf"(?P<thought><think>)|(?P<thought_end>{_CLOSE})|(?P<code>`+|^[ \t]{{0,3}}~~~+)"
    r"|(?P<quotation>^[ \t]{0,3}>(?:(?!</?think>).)*+$)"
)
_TOKENS = 8  # special tokens at the end of a reply
_TOKEN = re.compile(r"(?:<[|｜][^<>\n]{1,40}[|｜]>|</s>)\Z")
_LONGEST = 50  # characters of one


def read_leniently(text: str, tools: Sequence[Mapping[str, Any]], forms: Sequence[Form] = (JSON,)) -> ParsedReply:
    """The calls of a reply and the text before them; the text after the thoughts if there are none.

    A frame of the family makes a call, whatever the name. Other forms are calls only of tools on offer, and as a whole
    reply in the family's own form. Lines that Markdown quotes are text. So is its code, unless the reply ends with it:
    then calls of tools on offer count. Marks of thoughts inside a value are text.
    """
    return _Scan(text, offered_tools(tools), tuple(forms)).reply()


def without_thoughts(text: str, marked: str) -> str:
    """The text without the thoughts that are marked in ``marked``, a text as long."""
    scan = _Scan(marked, {}, ())
    scan.scan()
    return "".join(text[start:stop] for start, stop in scan.parts).strip() if scan.kept else text


@lru_cache(maxsize=32)
def _openings(forms: tuple[Form, ...]) -> re.Pattern[str]:
    named = (f"(?P<form{number}>{form.opening})" for number, form in enumerate(forms))
    return re.compile("|".join([_MARKS, *named]), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _CallPlace:
    """Calls at a place of the reply."""

    form: Form
    found: Found
    start: int
    code: int | None = None  # where the code begins in which they stand


@dataclass(slots=True)
class _Scan:
    text: str
    offered: Offered
    forms: tuple[Form, ...]
    kept: list[tuple[int, int]] = field(default_factory=list)  # parts of the text before the current one
    begins: int = 0  # of the current part
    places: list[_CallPlace] = field(default_factory=list)
    fence: str = ""  # of the code that is open
    code: int = 0  # its start
    code_end: int = 0
    quoted_thought: bool = False  # a mark of a thought stands in that code
    thought_end: int = 0  # the first that stands in that code: a quotation if the code is closed
    last_end: int = 0  # of the thoughts
    sign: int = 0  # the first of the answer

    def reply(self) -> ParsedReply:
        self.scan()
        signs = (_SIGN.search(self.text, start, stop) for start, stop in self.parts)
        self.sign = next((found.start() for found in signs if found), len(self.text))
        if places := self._calls():
            first = places[0][0]
            before = self._answer(first.start if first.code is None else first.code)
            return ParsedReply(before if before.strip() else None, tuple(call for _, calls in places for call in calls))
        answer = self._answer(len(self.text))
        return ParsedReply(answer if answer.strip() else None)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The text outside of thoughts."""
        return [*self.kept, (self.begins, len(self.text))]

    def scan(self) -> None:
        budget, pattern, place = Budget(self.text), _openings(self.forms), 0
        self.last_end = self.text.rfind(_CLOSE) + len(_CLOSE)
        while budget:
            opening = pattern.search(self.text, place)
            if not opening and self.fence and self.thought_end:
                place = self._end_thoughts(self.thought_end)
                budget.again(len(self.text) - place)
                continue
            if not opening:
                return
            kind = opening.lastgroup or ""
            if not kind.startswith("form"):
                place = self._mark(kind, opening)
                budget.again(opening.start() - place)
                continue
            form = self.forms[int(kind.removeprefix("form"))]
            try:
                found = form.read(self.text, opening.end(), self.offered)
            except NoValue as error:
                budget.failed(opening.start(), error.place)
                place = max(opening.start() + 1, opening.end(), error.place if isinstance(error, TooDeep) else 0)
                continue
            if found.framed or found.bare:
                self.places.append(_CallPlace(form, found, opening.start(), self.code if self.fence else None))
            else:
                budget.failed(opening.start(), opening.start())
            place = max(found.end, opening.end())

    def _mark(self, kind: str, opening: re.Match[str]) -> int:
        """Takes note of a thought or of code; returns where the search goes on: a quoted line is passed over."""
        if kind == "quotation":
            return opening.end()
        if kind == "code":
            return self._code(opening[0].lstrip(), opening.end())
        if self.fence:
            if kind == "thought_end" and not self.quoted_thought:
                self.thought_end = self.thought_end or opening.end()
            self.quoted_thought = kind == "thought"
            return opening.end()
        if kind == "thought_end":
            return self._end_thoughts(opening.end())
        is_closed = opening.end() < self.last_end
        if not (is_closed or self._begins_line(opening.start())):
            return opening.end()  # a mention
        self.kept.append((self.begins, opening.start()))
        self.begins = self.text.find(_CLOSE, opening.end()) + len(_CLOSE) if is_closed else len(self.text)
        return self.begins

    def _end_thoughts(self, place: int) -> int:
        """They were opened before the reply."""
        self.kept, self.places, self.fence, self.thought_end = [(0, 0)], [], "", 0
        self.begins = place
        return place

    def _begins_line(self, place: int) -> bool:
        while place and self.text[place - 1] != "\n" and self.text[place - 1].isspace():
            place -= 1
        return not place or self.text[place - 1] == "\n"

    def _code(self, run: str, end: int) -> int:
        if self.fence:
            if run.startswith(self.fence):
                if self.thought_end and len(run) >= 3 and self.text[end : end + 1].isalnum():
                    # it opens other code, so the earlier was not closed
                    return self._end_thoughts(self.thought_end)
                self.fence, self.code_end = "", end
            return end
        closing = self.text.find(run, end) if len(run) < 3 else -1
        if len(run) >= 3 or (closing >= 0 and self.text.find("\n", end, closing) < 0):
            self.fence, self.code, self.quoted_thought, self.thought_end = run, end - len(run), False, 0
        return end

    def _calls(self) -> list[tuple[_CallPlace, list[ParsedCall]]]:
        """The places that hold calls: those outside of code, if there are any."""
        plain = self._held([one for one in self.places if one.code is None])
        if plain or not (self.fence or self._is_end(self.code_end)):
            return plain
        # a part of a line is a quotation unless it is all
        return self._held(
            [one for one in self.places if self._is_whole(one) or self.text.startswith(("```", "~~~"), one.code)]
        )

    def _held(self, places: Sequence[_CallPlace]) -> list[tuple[_CallPlace, list[ParsedCall]]]:
        held = [(one, one.found.framed if self._is_frame(one) else one.found.bare) for one in places]
        return [(one, calls) for one, calls in held if calls]

    def _is_frame(self, place: _CallPlace) -> bool:
        if place.form.is_frame == "always" and place.code is None:
            return True
        return place.form.is_frame != "never" and self._is_whole(place)

    def _is_whole(self, place: _CallPlace) -> bool:
        """Whether nothing stands around the calls but the code's own marks."""
        start, end = (place.start, place.found.end) if place.code is None else (place.code, self.code_end)
        ends = self._is_end(end) if len(self.places) == 1 else False
        return (ends or (place.code is not None and bool(self.fence))) and start <= self.sign

    def _is_end(self, place: int) -> bool:
        return not without_tokens(self.text[place:]).strip()

    def _answer(self, end: int) -> str:
        """The text up to a place, without thoughts, and without special tokens at the end of the reply."""
        answer = "".join(self.text[start : min(stop, end)] for start, stop in self.parts if start < end)
        if end == len(self.text):
            answer = without_tokens(answer)
        return answer.strip() if self.kept else answer


def without_tokens(text: str) -> str:
    """The text without special tokens of a chat template at its end."""
    for _ in range(_TOKENS):
        ended = text.rstrip()
        token = _TOKEN.search(ended, max(len(ended) - _LONGEST, 0))
        if not token:
            break
        text = ended[: token.start()]
    return text
