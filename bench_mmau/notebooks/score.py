"""Verdicts per turn and the metrics of the notebook tasks, the same for all three of them (MMAU spec 7.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.errors import UsageProblem
from bench_mmau.notebooks.fixes import PARITY, Fixes
from bench_mmau.notebooks.qa import image_expected
from bench_mmau.tool_use.errors import NotScorable, StopsOnReply
from bench_mmau.tool_use.replies import record_id

_KINDS = {str: "a text", dict: "an object", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Answered:
    """One solution in the end. ``answers`` is what the QA model replied, decoded; None if it was not asked or not
    understood."""

    execution_success: bool
    answers: Any = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """``passed``: every question is answered rightly, None for a turn without questions.

    ``values``: ``correct`` (at most ``questions``, but for nested answers [Q30]), ``questions``, and 0 or 1 for
    ``image`` (an image is expected) and ``executed`` (at least one solution ran).
    """

    record_id: str
    passed: bool | None
    values: Mapping[str, float]
    labels: tuple[str, ...] = ()
    explanation: str = ""


def judge(record: Mapping[str, Any], solutions: Sequence[Answered], *, fixes: Fixes = PARITY) -> Verdict:
    """A question is answered rightly if any solution does so; a wrong number of answers counts for nothing.

    Raises StopsOnReply for answers that are no list and for lists that cannot be compared (parity), NotScorable without
    ground truth.
    """
    number, truth = record_id(record), record.get("gt_answers")
    if not isinstance(truth, list):
        raise NotScorable(
            number, f"'gt_answers' is {truth!r:.80} where a list of letters is needed; mend or remove the record"
        )
    asked = [one.answers for one in solutions if one.answers is not None]
    correct = _count_flat(truth, asked) if fixes.flat_answers else _count(truth, asked, number)
    executed = any(one.execution_success for one in solutions)
    image = image_expected(record)
    values = {"correct": correct, "questions": float(len(truth)), "image": float(image), "executed": float(executed)}
    passed = correct >= len(truth) if truth else None
    labels: tuple[str, ...] = ()
    if not solutions:
        labels, text = ("no_cells",), "no reply holds a list of cells"
    elif not executed:
        labels, text = ("code_failed",), "the code failed"
    elif not asked:
        labels, text = ("unanswered",), "the code ran, but no answer was given or understood"
    else:
        labels, text = (
            () if passed is not False else ("wrong_answer",),
            f"{correct:g} of {len(truth)} questions are answered rightly",
        )
    return Verdict(number, passed, values, labels, text)


def _count(truth: Sequence[Any], asked: Sequence[Any], number: str) -> float:
    """Right answers as arrays compare: numbers beside texts become texts, and nested lists are spread over the truth
    [Q30]."""
    numpy = _numpy()
    right = numpy.zeros(len(truth), dtype=bool)
    for answers in asked:
        if not isinstance(answers, list):
            kind = _KINDS.get(type(answers), "a number")
            raise StopsOnReply(number, f"the answers are {kind} where a list of letters is needed")
        try:
            given = numpy.array(answers)  # also of another length: lists of unlike lengths inside stop there
            if len(given) == len(truth):
                right = right | numpy.asarray(given == numpy.array(truth), dtype=bool)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise StopsOnReply(number, f"the answers cannot be compared with the truth ({error})") from error
    return float(right.sum())


def _count_flat(truth: Sequence[Any], asked: Sequence[Any]) -> float:
    """Right answers among lists of texts of the right length; nothing else is an answer."""
    lists = [
        one
        for one in asked
        if isinstance(one, list) and len(one) == len(truth) and all(isinstance(answer, str) for answer in one)
    ]
    return float(sum(any(answers[place] == wanted for answers in lists) for place, wanted in enumerate(truth)))


def metric(verdicts: Sequence[Verdict], *, fixes: Fixes = PARITY) -> dict[str, float]:
    """``code_kaggle``, ``code_kaggle_retry`` and ``code_kaggle_oracle``: rates from 0 to 1 (NaN without such turns
    [Q31]) and counts.

    ``overall_accuracy`` is the headline. Raises NotScorable without records.
    """
    if not verdicts:
        raise NotScorable(
            "", "there is no record to score where at least one is needed; check the input file and the limit"
        )
    texts = [one for one in verdicts if not one.values["image"]]
    images = [one for one in verdicts if one.values["image"]]
    executed = sum(bool(one.values["executed"]) for one in verdicts)
    result = {"execution_success_rate": executed / len(verdicts)}
    parts = (("", verdicts), ("text_", texts), ("image_", images))
    result |= {f"{name}overall_accuracy": _overall(part, fixes) for name, part in parts}
    result |= {f"{name}per_response_accuracy": _per_turn(part, fixes) for name, part in parts}
    result["execution_success_count"] = executed
    for name, part in parts:
        result[f"total_{name}questions"] = _sum(part, "questions")
        result[f"total_{name}correct"] = _sum(part, "correct")
    return result


def _sum(verdicts: Sequence[Verdict], name: str) -> float:
    """Exact also in single precision, up to 2**24."""
    return float(sum(one.values[name] for one in verdicts))


def _overall(verdicts: Sequence[Verdict], fixes: Fixes) -> float:
    return _ratio(_sum(verdicts, "correct"), _sum(verdicts, "questions"), fixes)


def _ratio(one: float, other: float, fixes: Fixes) -> float:
    """NaN where the turns have no questions; rounded to single precision [Q31]."""
    if not other:
        return math.nan
    return one / other if fixes.double_precision else float(_numpy().float32(one) / _numpy().float32(other))


def _per_turn(verdicts: Sequence[Verdict], fixes: Fixes) -> float:
    """The mean over turns; one without questions makes it NaN in parity and is left out by strict."""
    ratios = [_ratio(one.values["correct"], one.values["questions"], fixes) for one in verdicts]
    if fixes.double_precision:
        ratios = [one for one in ratios if not math.isnan(one)]
    if not ratios:
        return math.nan
    return (
        math.fsum(ratios) / len(ratios)
        if fixes.double_precision
        else float(_numpy().mean(_numpy().array(ratios, dtype="float32")))
    )


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise UsageProblem(
            "the Apple MMAU notebook metrics need numpy; install it, or the extra agentgauge[tools], and run again"
        ) from error
    return numpy
