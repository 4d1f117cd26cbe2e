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
from agentgauge.agent.near_json import NoValue

_CLOSE = "</think>"
_MARKS = (
    rf"(?P<thought><think>)|(?P<thought_end>{_CLOSE})|(?P<code>`+|^[ \t]{{0,3}}~~~+)"
    r"|(?P<quotation>^[ \t]{0,3}>(?:(?!</?think>).)*+$)"
)
_SEARCHED = 300_000  # characters read in vain, beside the length of the text; hostile text has no end of them
_ATTEMPT = 50  # what an attempt costs beside, and a thousandth of its place: the JSON module counts the lines before
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

    def reply(self) -> ParsedReply:
        self._scan()
        if places := self._calls():
            first = places[0][0]
            before = self._answer(first.start if first.code is None else first.code)
            return ParsedReply(before if before.strip() else None, tuple(call for _, calls in places for call in calls))
        answer = self._answer(len(self.text))
        return ParsedReply(answer if answer.strip() else None)

    def _scan(self) -> None:
        left = len(self.text) + _SEARCHED
        pattern, place = _openings(self.forms), 0
        while left > 0 and (opening := pattern.search(self.text, place)):
            kind = opening.lastgroup or ""
            if not kind.startswith("form"):
                place = self._mark(kind, opening)
                continue
            form = self.forms[int(kind.removeprefix("form"))]
            try:
                found = form.read(self.text, opening.end(), self.offered)
            except NoValue as error:
                left -= max(error.place - opening.start(), 0) + _ATTEMPT + opening.start() // 1000
                place = max(opening.start() + 1, opening.end())
                continue
            if found.framed or found.bare:
                self.places.append(_Place(form, found, opening.start(), self.code if self.fence else None))
            else:
                left -= _ATTEMPT + opening.start() // 1000
            place = max(found.end, opening.end())

    def _mark(self, kind: str, opening: re.Match[str]) -> int:
        """Takes note of a thought or of code; returns where the search goes on: a quoted line is passed over."""
        if kind == "quotation":
            return opening.end()
        if kind == "code":
            return self._code(opening[0].lstrip(), opening.end())
        if self.fence and (kind == "thought" or self.quoted_thought):
            self.quoted_thought = kind == "thought"
            return opening.end()
        if kind == "thought":
            end = self.text.find(_CLOSE, opening.end())
            if end < 0 and self.text[self.text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip():
                return opening.end()  # a mention
            self.kept.append((self.begins, opening.start()))
            self.begins = len(self.text) if end < 0 else end + len(_CLOSE)
        else:  # it was opened before the reply
            self.kept, self.places, self.fence = [(0, 0)], [], ""
            self.begins = opening.end()
        return self.begins

    def _code(self, run: str, end: int) -> int:
        if self.fence:
            if run.startswith(self.fence):
                self.fence, self.code_end = "", end
            return end
        line_end = self.text.find("\n", end)
        line_end = len(self.text) if line_end < 0 else line_end
        closing = self.text.find(run, end, line_end)
        if len(run) >= 3 or closing >= 0:
            self.fence, self.code, self.quoted_thought = run, end - len(run), False
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
        return (ends or (place.code is not None and bool(self.fence))) and not self._answer(start).strip()

    def _is_end(self, place: int) -> bool:
        return not without_tokens(self.text[place:]).strip()

    def _answer(self, end: int) -> str:
        """The text up to a place, without thoughts, and without special tokens at the end of the reply."""
        parts = [*self.kept, (self.begins, end)]
        answer = "".join(self.text[start:stop] for start, stop in parts)
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
