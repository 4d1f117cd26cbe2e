"""The metric ``tool_use_execution``: does the reply make the target's calls (MMAU spec 4). It serves all five
tool-use tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench_mmau.average import Counted, Verdict, total
from bench_mmau.tool_use.calls import Flags, compare_calls, detailed
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import PARITY as AS_PUBLISHED
from bench_mmau.tool_use.replies import Client, Message, Unreadable, format_target, read, record_id, response_of
from bench_mmau.tool_use.replies import Fixes as ReplyFixes
from bench_mmau.tool_use.values import PARITY, STRICT, Fixes

__all__ = ["PARITY", "STRICT", "Fixes", "judge", "judge_stored", "metric"]

_PARTS = {
    "func_name": "func_name_accuracy",
    "strict": "strict_accuracy",
    "lenient": "lenient_accuracy",
    "bow": "bow_accuracy",
}
_COUNTERS = (
    "right",
    "parsing_errors",
    "generation_errors",
    "expected_calls",
    *_PARTS,
    "target_intents",
    "predicted_intents",
    "common_intents",
)


def judge_stored(
    record: Mapping[str, Any],
    client: Client = "openai",
    *,
    fixes: Fixes = PARITY,
    reply_fixes: ReplyFixes = AS_PUBLISHED,
) -> Verdict:
    """Judge a record of a response file. What cannot be read counts as a parsing error. Raises NotScorable as
    ``judge``."""
    try:
        messages: Sequence[Message] | None = read(response_of(record), client, fixes=reply_fixes)
    except Unreadable:
        messages = None
    return judge(record, messages, fixes=fixes)


def judge(record: Mapping[str, Any], messages: Sequence[Message] | None, *, fixes: Fixes = PARITY) -> Verdict:
    """Compare the first message with ``target_message``; ``messages`` None stands for a response that cannot be read.

    Values: counts of calls (``expected_calls`` and the four parts), the others 0 or 1. Raises NotScorable for a target
    or rules that the published evaluator refuses, and StopsOnReply for calls on which it stops.
    """
    number = record_id(record)
    if record.get("target_message") is None:
        raise NotScorable(
            number, "'target_message' is null or missing; tool use is scored against it, so mend or remove the record"
        )
    target = format_target(record["target_message"], number)
    predicted = messages[0] if messages else None
    wanted, mine = target.calls or (), (predicted.calls if predicted else None) or ()
    values = {
        **dict.fromkeys(_COUNTERS, 0.0),
        "parsing_errors": float(messages is None),
        "generation_errors": float(_nothing_generated(messages)),
        "expected_calls": float(len(wanted)),
        "target_intents": float(bool(wanted)),
        "predicted_intents": float(bool(mine)),
        "common_intents": float(bool(wanted and mine)),
    }
    right = predicted is not None and _right(predicted, target, record.get("target_message_match_rules"), number, fixes)
    flags = detailed(mine, wanted, fixes=fixes) if wanted and mine else []
    values |= {"right": float(right), **{part: float(sum(getattr(flag, part) for flag in flags)) for part in _PARTS}}
    if right:
        return Verdict(True, values)
    label, text = _why(messages, predicted, target, flags)
    return Verdict(False, values, (label,), text)


def _nothing_generated(messages: Sequence[Message] | None) -> bool:
    """One message with an empty text and no field for calls. A null text or an empty list of calls is something
    else."""
    if messages is None or len(messages) != 1:
        return False
    message = messages[0]
    return message.content == "" and message.calls is None and message.function_call is None


def _right(predicted: Message, target: Message, rules: Any, number: str, fixes: Fixes) -> bool:
    if fixes.text_and_calls:
        if not target.calls and not predicted.calls:
            return bool(target.content) and (predicted.content or "").strip() == (target.content or "").strip()
    elif target.content and predicted.content == target.content:
        return True  # equal text wins over wrong or missing calls [Q3]
    if not target.calls or not predicted.calls or len(target.calls) != len(predicted.calls):
        return False
    return compare_calls(predicted.calls, target.calls, rules, number=number, fixes=fixes)


def _why(
    messages: Sequence[Message] | None, predicted: Message | None, target: Message, flags: Sequence[Flags]
) -> tuple[str, str]:
    """A label and a sentence for a wrong record."""
    wanted = (
        ", ".join(f"{call.name}({call.arguments})" for call in target.calls or ())
        or f"the text {(target.content or '')[:200]!r}"
    )
    if messages is None:
        return "parsing_error", f"expected {wanted}; the response cannot be read"
    if predicted is None or _nothing_generated(messages):
        return "no_reply", f"expected {wanted}; the reply is empty"
    if not predicted.calls:
        return (
            "no_call" if target.calls else "wrong_text"
        ), f"expected {wanted}; came the text {(predicted.content or '')[:200]!r}"
    came = ", ".join(f"{call.name}({call.arguments})" for call in predicted.calls)
    if not target.calls:
        return "needless_call", f"expected {wanted}; came {came}"
    if len(predicted.calls) != len(target.calls):
        return "wrong_number_of_calls", f"expected {wanted}; came {came}"
    label = "wrong_arguments" if all(flag.func_name for flag in flags) else "wrong_tool"
    return label, f"expected {wanted}; came {came}"


def metric(verdicts: Iterable[Counted], *, fixes: Fixes = PARITY) -> dict[str, float]:
    """All keys of the published metric. Accuracies are 0 to 1, but for ``func_name_accuracy``, which may exceed 1
    [Q7]."""
    count, sums = total(verdicts, _COUNTERS)
    if not count and not fixes.keys_of_nothing:
        return {"accuracy": 0, "number_of_examples": 0, "number_of_errors": 0}  # another set of keys [Q2]
    return {
        "accuracy": sums["right"] / max(1, count),
        "number_of_examples": count,
        "number_of_parsing_errors": int(sums["parsing_errors"]),
        "number_of_generation_errors": int(sums["generation_errors"]),
        **{key: sums[part] / max(1, sums["expected_calls"]) for part, key in _PARTS.items()},
        "number_of_expected_tool_calls": int(sums["expected_calls"]),
        "number_of_func_call_intents_ground_truth": int(sums["target_intents"]),
        "number_of_func_call_intents_pred": int(sums["predicted_intents"]),
        "func_intent_recall": sums["common_intents"] / max(1, sums["target_intents"]),
        "func_intent_precision": sums["common_intents"] / max(1, sums["predicted_intents"]),
    }
