"""Verdicts per turn of the notebook tasks, the same for all of them (MMAU spec 7.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import compared, shown
from bench_mmau.average import Verdict
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.notebooks.qa import image_expected
from bench_mmau.tool_use.errors import NotScorable, StopsOnReply
from bench_mmau.tool_use.replies import record_id

_KINDS = {str: "a text", dict: "an object", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class AnsweredSolution:
    """One finished solution. ``answers`` is the decoded reply of the QA model; None without a request, and for a reply
    that is no JSON. ``problem``: why there are none, for the explanation."""

    execution_success: bool
    answers: Any = None
    problem: str = ""


def judge(
    record: Mapping[str, Any], solutions: Sequence[AnsweredSolution], *, without: str = "", fixes: Fixes = PARITY
) -> Verdict:
    """A question is answered rightly if any solution does so; a wrong number of answers counts for nothing.

    ``passed``: every question is answered rightly, None for a turn without questions. ``values``: ``correct`` (at most
    ``questions``, but for nested answers [Q30]), ``questions``, and 0 or 1 for ``image`` (an image is expected) and
    ``executed`` (at least one solution ran); the values from ``share`` on are summed by the table's columns.
    ``without``: why no reply has cells, for the explanation.

    Raises StopsOnReply for answers that are no list and for lists that cannot be compared (parity), NotScorable without
    ground truth.
    """
    number, truth = record_id(record), record.get("gt_answers")
    if not isinstance(truth, list):
        raise NotScorable(
            number, f"'gt_answers' is {truth!r:.80} where a list of letters is needed; correct or remove the record"
        )
    asked = [one.answers for one in solutions if one.answers is not None]
    correct = _count_flat(truth, asked) if fixes.flat_answers else _count(truth, asked, number)
    executed = any(one.execution_success for one in solutions)
    image = image_expected(record)
    questions, kind = float(len(truth)), "image" if image else "text"
    values = {
        "correct": correct,
        "questions": questions,
        "image": float(image),
        "executed": float(executed),
        "share": correct / questions if questions else 0.0,
        f"{kind}_correct": correct,
        f"{kind}_questions": questions,
    }
    passed = correct >= len(truth) if truth else None
    labels: tuple[str, ...] = ()
    if without or not solutions:
        labels, text = ("no_cells",), f"no reply has a list of notebook cells{without and f': {without}'}"
    elif not executed:
        labels, text = ("code_failed",), "the cells failed"
    elif not asked:
        why = next((one.problem for one in solutions if one.problem), "no list of answers could be read")
        labels, text = ("unanswered",), f"no question is answered: {why}"
    else:
        text = f"{correct:g} of {len(truth)} questions are answered correctly"
        if passed is False:
            if not any(isinstance(one, list) and len(one) == len(truth) for one in asked):
                text += ", because the reply is no list of one answer for each"
            labels, text = ("wrong_answer",), compared(text, shown(truth), " or ".join(map(shown, asked)))
    return Verdict(passed, values, labels, text)


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


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise UsageProblem(
            "the Apple MMAU notebook metrics need numpy; install it, or the extra agentgauge[tools], and run again"
        ) from error
    return numpy
