"""What follows a notebook's run: one more try for code that failed, by the model of the first one
(docs/benchmarks/mmau.md#retry), the questions about the output (7.3), and the verdict per turn, the same for all
notebook tasks (7.5).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import compared, shown
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.metrics import RecordVerdict
from bench_mmau.notebooks.cells import NoCells, Solution, decoded, read_cells, the_same, without_fences
from bench_mmau.notebooks.execute import Execution, NoFigure, NoPicture, Render, ShownCell, organise
from bench_mmau.replies import NotScorable, StopsOnReply, record_id, text_of

QUESTIONS = """The code was run. This is the notebook's last cell that shows something, with its outputs, as JSON:

{cell}

Where an output was a picture, <image_1>, <image_2> and so on stand in its place; the pictures follow this text in \
that order.

Now answer these multiple-choice questions, given as a JSON list, from what the outputs show:

{questions}

Reply with one JSON list and nothing else: one upper-case letter per question, in the order of the questions, such as \
["A", "C"]."""

Message = Mapping[str, Any]


def question_request(
    record: Mapping[str, Any],
    solution: Solution,
    execution: Execution,
    *,
    sees: bool,
    render: Render | None = None,
    fixes: Fixes = PARITY,
) -> list[Message] | None:
    """The messages for the QA model; None if it is not asked: the code failed, or there is no output.

    The published code sends a model that cannot see (not ``sees``) the conversation without a question where an image
    is expected [Q29]. Our runs plan no such case. Raises NotScorable for a record without questions and where Plotly
    figures cannot be drawn here, StopsOnReply for a cell that cannot be shown.
    """
    if not execution.success or execution.last_cell is None:
        return None
    if image_expected(record) and not sees:
        return list(solution.messages)
    try:
        shown = organise(execution.last_cell, image_expected=image_expected(record), render=render, fixes=fixes)
    except NoPicture as error:
        raise NotScorable(record_id(record), str(error)) from error
    except NoFigure as error:
        raise StopsOnReply(record_id(record), str(error)) from error
    try:
        return [*solution.messages, {"role": "user", "content": _content(record, shown)}]
    except RecursionError as error:
        raise StopsOnReply(record_id(record), "the last cell is nested too deeply to be shown") from error


def image_expected(record: Mapping[str, Any]) -> bool:
    """Whether the record expects an image. Raises NotScorable if the record does not say it."""
    if "image_expected" not in record:
        raise NotScorable(
            record_id(record), "the field 'image_expected' is missing; score a response file of the notebook tasks"
        )
    return bool(record["image_expected"])


def _content(record: Mapping[str, Any], shown: ShownCell) -> str | list[dict[str, Any]]:
    """Plain text; with images a list of parts, the text first."""
    if "questions" not in record:
        raise NotScorable(
            record_id(record), "the field 'questions' is missing; score a response file of the notebook tasks"
        )
    before, _, rest = QUESTIONS.partition("{cell}")
    between, _, after = rest.partition("{questions}")
    text = before + json.dumps(shown.cell) + between + json.dumps(record["questions"]) + after
    if not shown.images:
        return text
    return [
        {"type": "text", "text": text},
        *({"type": "image_url", "image_url": {"url": image}} for image in shown.images),
    ]


def read_answers(content: str | None, number: str = "", *, questions: int = 0, fixes: Fixes = PARITY) -> Any:
    """The decoded answers, in any shape; None if the reply is no JSON, which counts as unanswered.

    In parity single quotes count as double ones, and StopsOnReply is raised for a reply without content and for JSON
    that cannot be decoded. ``questions``: how many there are; 0 if unknown.
    """
    text = text_of(content, number, fixes)
    plain = text if fixes.flat_answers else without_fences(text).replace("'", '"')

    def chosen(values: Sequence[Any]) -> Any:
        lists = [one for one in values if isinstance(one, list) and {*map(type, one)} == {str}]
        return the_same([one for one in lists if len(one) == questions] or lists)

    try:
        return decoded(plain, number, choose=chosen if fixes.flat_answers else None)
    except ValueError:
        return None


PACKAGES = (
    "numpy, pandas, scipy, scikit-learn, sympy, statsmodels, matplotlib, seaborn, plotly, wordcloud, the standard"
    " library"
)

AGAIN = """Running the notebook with your cells failed:

{error}

Please write your cells again, corrected. They replace your earlier ones; the cells before them stay and run first.

Reply with one JSON list of notebook cells (nbformat 4) and nothing else. Each cell is an object with "cell_type" \
("code" or "markdown"), "metadata" (an empty object) and "source", a list of lines that each end with a line break. \
For example:

[{"cell_type": "code", "metadata": {}, "source": ["total = 1 + 1\\n", "print(total)\\n"]}]

The code may use these packages only: {packages}."""


def needs_retry(execution: Execution) -> bool:
    """True if the solution failed; every such one is retried, once."""
    return not execution.success


def retry_request(solution: Solution, execution: Execution) -> list[Mapping[str, Any]]:
    """The messages of the retry."""
    text = AGAIN.replace("{packages}", PACKAGES).replace(
        "{error}", execution.error
    )  # the error last: it may hold anything
    return [*solution.messages, {"role": "user", "content": text}]


def with_new_cells(
    solution: Solution,
    messages: list[Mapping[str, Any]],
    content: str | None,
    number: str = "",
    *,
    fixes: Fixes = PARITY,
) -> Solution:
    """The solution with the cells of the reply to ``messages``; unchanged if the cells cannot be decoded. Run it again
    in both cases.

    Raises StopsOnReply as ``cells.build``.
    """
    text = text_of(content, number, fixes)
    try:
        generated = read_cells(text, number, fixes=fixes)
    except NoCells:
        return solution
    turns = (*messages, {"role": "assistant", "content": without_fences(text)})
    return replace(solution, messages=turns, generated=generated, problem="")


_KINDS = {str: "a string", dict: "an object", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class AnsweredSolution:
    """One finished solution. ``answers`` is the decoded reply of the QA model; None without a request, and for a reply
    that is no JSON. ``problem``: why there are none, for the explanation."""

    execution_success: bool
    answers: Any = None
    problem: str = ""


def judge(
    record: Mapping[str, Any], solutions: Sequence[AnsweredSolution], *, without: str = "", fixes: Fixes = PARITY
) -> RecordVerdict:
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
    return RecordVerdict(passed, values, labels, text)


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
    """Right answers among lists of strings of the right length; nothing else is an answer."""
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
