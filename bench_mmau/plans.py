"""DAG QA: the number of the chosen plan, and the metric ``tool_use_plan`` of one record (MMAU spec 5.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bench_mmau.average import Verdict
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import Message, record_id, text_of, why_useless

_MARKER = re.compile(r"\*{0,2}Chosen Plan:\*{0,2}\s+(\d+)")
_ANY_MARKER = re.compile(r"chosen[ \t]+plan[ \t*_`]*:[\s*_`#]*(?:plan[\s*_`#]*)?(\d+)", re.IGNORECASE)


def chosen_plan(text: str, *, fixes: Fixes = PARITY) -> int | None:
    """The number of the plan that a reply chooses; None if no number is recognised. Digits of any script count.

    A number of more digits than Python converts is not recognised (corrections to the specs, November 2026).
    """
    found = _ANY_MARKER.findall(text)[-1:] if fixes.any_spelling else _MARKER.findall(text)[:1]
    try:
        return int(found[0]) if found else None
    except ValueError:
        return None


def judge(record: Mapping[str, Any], messages: Sequence[Message], *, fixes: Fixes = PARITY) -> Verdict:
    """Compare the first message's choice with ``target_plan_number``.

    A response without any message (Gemini) is neither right nor a format error. Raises NotScorable without a target,
    and in parity StopsOnReply for a null content.
    """
    number = record_id(record)
    target = _target(record, number, fixes)
    if not messages:
        return Verdict(
            False, {"right": 0.0, "format_error": 0.0}, ("no_reply",), f"expected plan {target}; there is no reply"
        )
    text = text_of(messages[0].content, number, fixes)
    chosen = chosen_plan(text, fixes=fixes)
    if chosen is None:
        return Verdict(
            False,
            {"right": 0.0, "format_error": 1.0},
            ("format_error",),
            f"expected plan {target}; {_why_unreadable(text, fixes)}",
        )
    right = bool(chosen == target)
    return Verdict(
        right,
        {"right": float(right), "format_error": 0.0},
        () if right else ("wrong_plan",),
        "" if right else f"expected plan {target!r}; the reply chooses {chosen}",
    )


def _why_unreadable(text: str, fixes: Fixes) -> str:
    if (_ANY_MARKER if fixes.any_spelling else _MARKER).search(text):
        return "the number of the chosen plan has too many digits"
    return why_useless(text, "the reply has no line of the form Chosen Plan: NUMBER")


def _target(record: Mapping[str, Any], number: str, fixes: Fixes) -> Any:
    target = record.get("target_plan_number")
    if target is None:
        raise NotScorable(
            number, "'target_plan_number' is null or missing; a whole number is needed, so correct or remove the record"
        )
    if fixes.text_target and isinstance(target, str):
        try:
            return int(target)
        except ValueError as error:
            raise NotScorable(
                number, f"'target_plan_number' is {target!r}; a whole number is needed, so correct the record"
            ) from error
    return target
