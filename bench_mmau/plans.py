"""DAG QA: the number of the chosen plan, and the metric ``tool_use_plan`` (MMAU spec 5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_mmau.average import Counted, Verdict, total
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import Message, record_id, text_of

_MARKER = re.compile(r"\*{0,2}Chosen Plan:\*{0,2}\s+(\d+)")
_ANY_MARKER = re.compile(r"chosen[ \t]+plan[ \t*_`]*:[\s*_`#]*(?:plan[\s*_`#]*)?(\d+)", re.IGNORECASE)
_COUNTERS = ("right", "format_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """What strict does otherwise: one switch for each quirk, with its number in section 9 or its section."""

    any_spelling: bool = (
        False  # Q9: the marker in any case, with its emphasis and blanks anywhere, and the last one decides
    )
    text_target: bool = False  # 5.1: a target stored as text is its number
    null_is_empty: bool = False  # section 10: a reply without content is an empty one and stops nothing


PARITY = Fixes()
STRICT = Fixes(any_spelling=True, text_target=True, null_is_empty=True)


def chosen_plan(text: str, *, fixes: Fixes = PARITY) -> int | None:
    """The number of the plan that a reply chooses; None where none is recognised. Digits of any script count.

    A number of more digits than Python converts is none that is recognised (corrections to the specs, November 2026).
    """
    found = _ANY_MARKER.findall(text)[-1:] if fixes.any_spelling else _MARKER.findall(text)[:1]
    try:
        return int(found[0]) if found else None
    except ValueError:
        return None


def judge(record: Mapping[str, Any], messages: Sequence[Message], *, fixes: Fixes = PARITY) -> Verdict:
    """Compare the first message's choice with ``target_plan_number``.

    No message at all (Gemini) is neither right nor a format error. Raises NotScorable without a target, and in parity
    StopsOnReply for a null content.
    """
    number = record_id(record)
    target = _target(record, number, fixes)
    if not messages:
        return Verdict(
            False, dict.fromkeys(_COUNTERS, 0.0), ("no_reply",), f"expected plan {target}; there is no reply"
        )
    text = text_of(messages[0], number, null_is_empty=fixes.null_is_empty)
    chosen = chosen_plan(text, fixes=fixes)
    if chosen is None:
        return Verdict(
            False,
            {"right": 0.0, "format_error": 1.0},
            ("format_error",),
            f"expected plan {target}; the reply chooses none",
        )
    right = bool(chosen == target)
    return Verdict(
        right,
        {"right": float(right), "format_error": 0.0},
        () if right else ("wrong_plan",),
        "" if right else f"expected plan {target!r}; the reply chooses {chosen}",
    )


def _target(record: Mapping[str, Any], number: str, fixes: Fixes) -> Any:
    target = record.get("target_plan_number")
    if target is None:
        raise NotScorable(
            number, "'target_plan_number' is null or missing; a whole number is needed, so mend or remove the record"
        )
    if fixes.text_target and isinstance(target, str):
        try:
            return int(target)
        except ValueError as error:
            raise NotScorable(
                number, f"'target_plan_number' is {target!r}; a whole number is needed, so mend the record"
            ) from error
    return target


def metric(verdicts: Iterable[Counted]) -> dict[str, float]:
    """``accuracy`` and ``instruction_following_error``, both 0 to 1. Raises NotScorable without records."""
    count, sums = total(verdicts, _COUNTERS)
    if not count:
        raise NotScorable("", "there are no records, so the accuracy of DAG QA is undefined; check the file")
    return {
        "accuracy": sums["right"] / count,
        "instruction_following_error": sums["format_error"] / count,
        "number_of_examples": count,
    }
