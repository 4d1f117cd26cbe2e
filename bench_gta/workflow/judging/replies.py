"""From a judge's reply to a score (GTA-Workflow spec 3.4)."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agentgauge.agent.model_json import values_in
from agentgauge.core.errors import AgentGaugeError
from agentgauge.core.types import Json

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PLAIN_NUMBER = re.compile(r"\s*\d{1,3}(?:\.\d{1,20})?\s*", re.ASCII)


class Unreadable(AgentGaugeError):
    """A judge's reply holds no score that the strict reader accepts. The judge may be asked again. ``kind``: what is
    wrong with it, in words that count equal ones."""

    def __init__(self, message: str, kind: str = "no readable score") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's verdict on one leaf."""

    score: float  # 0 to 10
    analysis: Json  # text in every sound reply
    fallback: Literal["", "regex fallback", "parse failed"]  # empty: the reply was read as asked for


def read_reply(text: str, *, strict: bool = False) -> Verdict:
    """The score of a reply.

    By default by upstream's rules (GTA-Workflow spec 3.4), which read something from every text: the whole reply as a
    JSON object, else the first number in it, else 0. ``strict`` looks for the one JSON object with a ``score`` from 0
    to 10, fenced or among other text, behind the thoughts; it raises Unreadable where there is none, or where several
    differ.
    """
    if strict:
        return _strict(text)
    try:
        reply = json.loads(text)
        if isinstance(reply, dict):
            # quirk of spec 3.4: in this order NaN becomes 10; true is 1
            return Verdict(max(0.0, min(10.0, float(reply.get("score", 0)))), reply.get("analysis", ""), "")
    except (ValueError, TypeError, OverflowError, RecursionError):
        pass  # no JSON, or no number: the digits decide
    # quirk of spec 3.4: a minus sign is passed over, and digits of other scripts count
    if found := _NUMBER.search(text):
        return Verdict(min(10.0, float(found[0])), "regex fallback", "regex fallback")
    return Verdict(0.0, "parse failed", "parse failed")


def flaw_of(text: str) -> str:
    """What is wrong with a reply that holds no score in the form asked for; empty for one that the strict reader
    accepts."""
    try:
        _strict(text)
    except Unreadable as problem:
        return problem.kind if text.strip() else "empty or refused"
    return ""


def median(verdicts: Sequence[Verdict]) -> Verdict:
    """Several votes as one: the median score, and the analysis of the vote nearest to it (the lower one in a tie).
    Raises ValueError without any vote."""
    if not verdicts:
        raise ValueError("a median needs at least one vote")
    score = statistics.median(vote.score for vote in verdicts)
    nearest = min(verdicts, key=lambda vote: (abs(vote.score - score), vote.score))
    return Verdict(score, nearest.analysis, nearest.fallback)


def _strict(text: str) -> Verdict:
    found = list(_objects_with_score(values_in(text)))
    # the form that was asked for, repeated, has words for the score
    found = [reply for reply in found if not _is_words(reply["score"])] or found
    if not found:
        lacking = f"no JSON object with a 'score': {text[:80]!r}"
        raise Unreadable(f"the judge's reply holds {lacking}; ask for that form only", "no JSON with a score")
    verdicts = [Verdict(_strict_score(reply["score"]), reply.get("analysis", ""), "") for reply in found]
    scores = {verdict.score for verdict in verdicts}
    if len(scores) > 1:
        several = ", ".join(map(str, sorted(scores)))
        raise Unreadable(f"the judge's reply holds the scores {several}; exactly one is accepted", "several scores")
    return verdicts[-1]


def _objects_with_score(value: Json) -> Iterator[dict[str, Json]]:
    """Every outermost object in the value that has a ``score``."""
    if isinstance(value, dict) and "score" in value:
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _objects_with_score(item)


def _is_words(score: Json) -> bool:
    return isinstance(score, str) and not _PLAIN_NUMBER.fullmatch(score)


def _strict_score(score: Json) -> float:
    if isinstance(score, str) and _PLAIN_NUMBER.fullmatch(score):
        score = float(score)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 10:
        accepted = "a number from 0 to 10"
        raise Unreadable(f"the judge's score is {str(score)[:40]!r}; accepted is {accepted}", f"a score not {accepted}")
    return float(score)
