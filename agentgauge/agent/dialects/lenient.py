"""Finds the calls in a reply, whatever stands around them: for ``--scoring strict``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agentgauge.agent.dialects.call_values import Offered, offered_tools
from agentgauge.agent.dialects.format import ParsedCall, ParsedReply
from agentgauge.agent.dialects.frames import JSON, Form, Found
from agentgauge.agent.near_json import Budget, NoValue, TooDeep

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
class _Place:
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
    places: list[_Place] = field(default_factory=list)
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
                self.places.append(_Place(form, found, opening.start(), self.code if self.fence else None))
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

    def _calls(self) -> list[tuple[_Place, list[ParsedCall]]]:
        """The places that hold calls: those outside of code, if there are any."""
        plain = self._held([one for one in self.places if one.code is None])
        if plain or not (self.fence or self._is_end(self.code_end)):
            return plain
        # a part of a line is a quotation unless it is all
        return self._held(
            [one for one in self.places if self._is_whole(one) or self.text.startswith(("```", "~~~"), one.code)]
        )

    def _held(self, places: Sequence[_Place]) -> list[tuple[_Place, list[ParsedCall]]]:
        held = [(one, one.found.framed if self._is_frame(one) else one.found.bare) for one in places]
        return [(one, calls) for one, calls in held if calls]

    def _is_frame(self, place: _Place) -> bool:
        if place.form.is_frame == "always" and place.code is None:
            return True
        return place.form.is_frame != "never" and self._is_whole(place)

    def _is_whole(self, place: _Place) -> bool:
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
