"""How the replies of a case ended: cut at a token limit, refused, or empty. Everything comes from the case's events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.content_filters import is_filtered
from agentgauge.core.types import Event, Json, Score

CUT, REFUSED = "reply_cut", "refused"
"""Labels of wrong cases with such a reply of the tested model."""

TESTED = "--model"
"""Stands for the tested model where models are named by the option of their role."""

_CONTEXT = frozenset({"model_length", "model_context_window_exceeded"})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens"}) | _CONTEXT
_LISTED = 3  # replies that a sentence lists; more are counted


def is_cut(finish_reason: str) -> bool:
    """Whether a reply ended at a token limit, in the words of any endpoint."""
    return finish_reason.lower() in _CUT


def limit_of(finish_reason: str, *limits: int | None) -> int | None:
    """The limit at which such a reply was cut: the first of ``limits`` that is set; None: the endpoint's own."""
    if finish_reason.lower() in _CONTEXT:
        return None
    return next((limit for limit in limits if limit is not None), None)


def limit_words(max_tokens: int | None) -> str:
    """The limit that ended a reply. ``None``: the request set none."""
    return "the endpoint's limit" if max_tokens is None else f"max_tokens {max_tokens}"


def count_replies(events: Sequence[Event]) -> dict[str, Json]:
    """The replies of each model: option of its role → ``{"replies": n, "cut": {limit: n}}``, without ``cut`` if none
    was. A limit is a number of tokens as text; empty: the endpoint's own. Records of earlier versions, which do not
    know how replies ended, give nothing."""
    found: dict[str, Json] = {}
    for event in events:
        reason = event.detail.get("finish_reason")
        if event.kind != "model" or not isinstance(reason, str):
            continue
        part = found.setdefault(str(event.detail.get("role") or TESTED), {"replies": 0})
        part["replies"] += 1
        if is_cut(reason):
            limit, cut = event.detail.get("max_tokens"), part.setdefault("cut", {})
            key = "" if limit is None else str(limit)
            cut[key] = cut.get(key, 0) + 1
    return found


def add_counts(counts: Sequence[Mapping[str, Json]]) -> dict[str, Any]:
    """The sum of several results of ``count_replies``."""
    found: dict[str, Any] = {}
    for parts in counts:
        for role, part in parts.items():
            total = found.setdefault(role, {"replies": 0})
            total["replies"] += part["replies"]
            for limit, count in part.get("cut", {}).items():
                cut = total.setdefault("cut", {})
                cut[limit] = cut.get(limit, 0) + count
    return found


def with_ends(score: Score, events: Sequence[Event]) -> Score:
    """The score of a wrong case with what its replies say about the reason: how they ended stands before everything
    else, in the explanation and in the labels.

    A benchmark sees what a reply holds, not why it holds no more. Labels are those of the tested model's replies only.
    """
    if score.passed:
        return score
    replies = [event for event in events if event.kind == "model" and "reply" in event.detail]
    own = [event for event in replies if not event.detail.get("role")]
    signs = {CUT: any(map(_is_cut, own)), REFUSED: any(map(_is_refused, own))}
    names_empty = any(label.endswith("_reply") for label in score.labels)  # the benchmark has a label for it
    lines = _sentences(own, "", names_empty=names_empty)
    for role in dict.fromkeys(str(event.detail["role"]) for event in replies if event.detail.get("role")):
        theirs = [event for event in replies if event.detail.get("role") == role]
        lines += _sentences(theirs, f" of {role}")
    labels = (*(label for label, holds in signs.items() if holds), *score.labels)
    text = "\n".join([*lines, *([score.explanation] if score.explanation else [])])
    return replace(score, labels=tuple(dict.fromkeys(labels)), explanation=text)


def _is_cut(event: Event) -> bool:
    return is_cut(str(event.detail.get("finish_reason", "")))


def _is_refused(event: Event) -> bool:
    return bool(event.detail.get("refusal")) or is_filtered(str(event.detail.get("finish_reason", "")))


def _is_empty(event: Event) -> bool:
    return not (str(event.detail["reply"]).strip() or event.detail.get("tool_calls") or event.detail.get("refusal"))


def _sentences(replies: Sequence[Event], whose: str, *, names_empty: bool = False) -> list[str]:
    """``whose``: follows the number of replies. ``names_empty``: no sentence about empty replies."""
    numbers: dict[str, list[int]] = {}
    for number, event in enumerate(replies, 1):
        if end := _end(event):
            numbers.setdefault(end, []).append(number)
    if names_empty:
        numbers.pop(_EMPTY, None)
    return [_sentence(found, len(replies), whose, end) for end, found in numbers.items()]


_EMPTY = "came without any text or call"


def _end(event: Event) -> str:
    """How a reply ended, as the rest of a sentence about it; empty for a usual end."""
    if _is_cut(event):
        place = f"was cut at {limit_words(event.detail.get('max_tokens'))}"
        return f"{place}, before any text or call" if _is_empty(event) else place
    if _is_refused(event):
        filtered = is_filtered(str(event.detail.get("finish_reason", "")))
        return "was ended by a content filter" if filtered else "is a refusal"
    return _EMPTY if _is_empty(event) else ""


def _sentence(numbers: Sequence[int], total: int, whose: str, end: str) -> str:
    if total == 1:
        return f"the reply{whose} {end}"
    if len(numbers) == 1:
        return f"reply {numbers[0]} of {total}{whose} {end}"
    end = end.replace("was ", "were ", 1).replace("is a refusal", "are refusals")
    if len(numbers) > _LISTED:
        return f"{len(numbers)} of {total} replies{whose} {end}"
    listed = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"replies {listed} of {total}{whose} {end}"
