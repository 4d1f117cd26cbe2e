"""Tool use and DAG QA: whether the reply makes the target's calls, the metric ``tool_use_execution`` of all five
tool-use tasks (docs/benchmarks/mmau.md#tool-use); and whether it chooses the right plan, the metric ``tool_use_plan``
(docs/benchmarks/mmau.md#dag-qa).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.text import compared, looks_like_call, shown_call, shown_text
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.metrics import RecordVerdict
from bench_mmau.replies import NotScorable, ReplyMessage, format_target, record_id, text_of, why_useless
from bench_mmau.tool_use.calls import compare_calls, detailed, unreadable_arguments

_PARTS = ("func_name", "strict", "lenient", "bow")
"""What of a predicted call agrees with a target: the fields of ``Flags``."""

_SENTENCES = {
    "unreadable_call": "no call can be read from the reply, although it looks like one",
    "no_call": "a text came where a call was expected",
    "wrong_text": "the text is wrong",
    "needless_call": "a call came where a text was expected",
    "wrong_number_of_calls": "the number of calls is wrong",
    "wrong_arguments": "the arguments are wrong",
    "wrong_tool": "the wrong tool was called",
}
"""Labels in words. The label ``unreadable_arguments`` has a sentence that says what is unreadable."""


def judge_calls(
    record: Mapping[str, Any], messages: Sequence[ReplyMessage] | None, *, fixes: Fixes = PARITY
) -> RecordVerdict:
    """Compare the first message with ``target_message``; ``messages`` None stands for a response that cannot be read.

    Values: counts of calls (``expected_calls`` and the four parts), the others 0 or 1. Raises NotScorable for a target
    or rules that the published evaluator refuses, and StopsOnReply for calls on which it stops.
    """
    number = record_id(record)
    if record.get("target_message") is None:
        raise NotScorable(
            number,
            "'target_message' is null or missing; tool use is scored against it, so correct or remove the record",
        )
    target = format_target(record["target_message"], number)
    predicted = messages[0] if messages else None
    wanted, mine = target.calls or (), (predicted.calls if predicted else None) or ()
    right = predicted is not None and _right(predicted, target, record.get("target_message_match_rules"), number, fixes)
    flags = detailed(mine, wanted, fixes=fixes) if wanted and mine else []
    values = {
        "right": float(right),
        "parsing_errors": float(messages is None),
        "generation_errors": float(_nothing_generated(messages)),
        "expected_calls": float(len(wanted)),
        **{part: float(sum(getattr(flag, part) for flag in flags)) for part in _PARTS},
        "target_intents": float(bool(wanted)),
        "predicted_intents": float(bool(mine)),
        "common_intents": float(bool(wanted and mine)),
    }
    if right:
        return RecordVerdict(True, values)
    labels, text = _why(messages, predicted, target)
    return RecordVerdict(False, values, labels, text)


def _nothing_generated(messages: Sequence[ReplyMessage] | None) -> bool:
    """One message with an empty text and no field for calls. A null text or an empty list of calls is something
    else."""
    if messages is None or len(messages) != 1:
        return False
    message = messages[0]
    return message.content == "" and message.calls is None and message.function_call is None


def _right(predicted: ReplyMessage, target: ReplyMessage, rules: Any, number: str, fixes: Fixes) -> bool:
    if fixes.text_and_calls:
        if not target.calls and not predicted.calls:
            return bool(target.content) and (predicted.content or "").strip() == (target.content or "").strip()
    elif target.content and predicted.content == target.content:
        return True  # equal text wins over wrong or missing calls [Q3]
    if not target.calls or not predicted.calls or len(target.calls) != len(predicted.calls):
        return False
    return compare_calls(predicted.calls, target.calls, rules, number=number, fixes=fixes)


def _why(
    messages: Sequence[ReplyMessage] | None, predicted: ReplyMessage | None, target: ReplyMessage
) -> tuple[tuple[str, ...], str]:
    """Labels and an explanation for a wrong record."""
    wanted = _shown(target)
    if messages is None:
        return ("parsing_error",), f"the response cannot be read\n  expected: {wanted}"
    if predicted is None or not (predicted.calls or (predicted.content or "").strip()):
        old = predicted is not None and predicted.function_call is not None
        why = (
            "the call stands in the outdated field function_call, which does not count" if old else "the reply is empty"
        )
        return ("no_reply",), f"{why}\n  expected: {wanted}"
    labels, sentence = _difference(predicted, target)
    return labels, compared(sentence, wanted, _shown(predicted))


def _difference(predicted: ReplyMessage, target: ReplyMessage) -> tuple[tuple[str, ...], str]:
    """The labels of a wrong reply, and a sentence."""
    mine = predicted.calls or ()
    flaws = (f"the arguments of {call.name} {why}" for call in mine if (why := unreadable_arguments(call)))
    unreadable = next(flaws, "")
    label = _mismatch(predicted, target)
    if label == "wrong_text" and (predicted.content or "").strip() == (target.content or "").strip():
        return (label,), "the text differs in the blanks around it"
    if not unreadable:
        return (label,), _SENTENCES[label]
    if label == "wrong_arguments":
        return ("unreadable_arguments",), unreadable
    return (label, "unreadable_arguments"), f"{_SENTENCES[label]}; {unreadable}"


def _mismatch(predicted: ReplyMessage, target: ReplyMessage) -> str:
    """The first thing in which a wrong reply differs: a label."""
    mine, wanted = predicted.calls or (), target.calls or ()
    if not mine:
        if not wanted:
            return "wrong_text"
        return "unreadable_call" if looks_like_call(predicted.content) else "no_call"
    if not wanted:
        return "needless_call"
    if len(mine) != len(wanted):
        return "wrong_number_of_calls"
    if sorted(call.name for call in mine) != sorted(call.name for call in wanted):
        return "wrong_tool"
    return "wrong_arguments"


def _shown(message: ReplyMessage) -> str:
    if not message.calls:
        return shown_text(message.content)
    return " + ".join(shown_call(call.name, call.arguments) for call in message.calls)


_MARKER = re.compile(r"\*{0,2}Chosen Plan:\*{0,2}\s+(\d+)")
_ANY_MARKER = re.compile(r"chosen[ \t]+plan[ \t*_`]*:[\s*_`#]*(?:plan[\s*_`#]*)?(\d+)", re.IGNORECASE)


def chosen_plan(text: str, *, fixes: Fixes = PARITY) -> int | None:
    """The number of the plan that a reply chooses; None if no number is recognised. Digits of any script count.

    A number of more digits than Python converts is not recognised (docs/benchmarks/mmau.md#dag-qa).
    """
    found = _ANY_MARKER.findall(text)[-1:] if fixes.any_spelling else _MARKER.findall(text)[:1]
    try:
        return int(found[0]) if found else None
    except ValueError:
        return None


def judge_plan(record: Mapping[str, Any], messages: Sequence[ReplyMessage], *, fixes: Fixes = PARITY) -> RecordVerdict:
    """Compare the first message's choice with ``target_plan_number``.

    A response without any message (Gemini) is neither right nor a format error. Raises NotScorable without a target,
    and in parity StopsOnReply for a null content.
    """
    number = record_id(record)
    target = _target(record, number, fixes)
    if not messages:
        return RecordVerdict(
            False, {"right": 0.0, "format_error": 0.0}, ("no_reply",), f"expected plan {target}; there is no reply"
        )
    text = text_of(messages[0].content, number, fixes)
    chosen = chosen_plan(text, fixes=fixes)
    if chosen is None:
        return RecordVerdict(
            False,
            {"right": 0.0, "format_error": 1.0},
            ("format_error",),
            f"expected plan {target}; {_why_unreadable(text, fixes)}",
        )
    right = bool(chosen == target)
    return RecordVerdict(
        right,
        {"right": float(right), "format_error": 0.0},
        () if right else ("wrong_plan",),
        "" if right else compared("another plan is chosen", f"plan {target!r}", f"plan {chosen}"),
    )


def _why_unreadable(text: str, fixes: Fixes) -> str:
    if (_ANY_MARKER if fixes.any_spelling else _MARKER).search(text):
        return "the number of the chosen plan has too many digits"
    return why_useless(text, "the reply has no line of the form Chosen Plan: NUMBER")


def _target(record: Mapping[str, Any], number: str, fixes: Fixes) -> Any:
    target = record.get("target_plan_number")
    if target is None:
        raise NotScorable(
            number, "'target_plan_number' is null or missing; an integer is needed, so correct or remove the record"
        )
    if fixes.text_target and isinstance(target, str):
        try:
            return int(target)
        except ValueError as error:
            raise NotScorable(
                number, f"'target_plan_number' is {target!r}; an integer is needed, so correct the record"
            ) from error
    return target
