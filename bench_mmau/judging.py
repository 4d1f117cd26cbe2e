"""Scores a stored output, with one function for each family of tasks. Pure, except that contest programs run again.

A reply on which the published evaluator stops is scored as that evaluator scores an invalid one, and ``Score.stops``
says why it stops (MMAU spec 10).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.types import Json, Score, Scoring
from bench_mmau import mathematics as math_task
from bench_mmau import plans as plan
from bench_mmau.average import Verdict
from bench_mmau.contests import score as contest_score
from bench_mmau.fixes import Fixes, fixes_of
from bench_mmau.notebooks import cells, qa
from bench_mmau.notebooks import score as notebook_score
from bench_mmau.tables import RECORDS
from bench_mmau.tool_use import metric as tool_use
from bench_mmau.tool_use import replies
from bench_mmau.tool_use.errors import StopsOnReply
from bench_mmau.tool_use.replies import Message, contents

Record = Mapping[str, Any]
Output = Mapping[str, Json]

_DATA_FILE = re.compile(r"\.\./input/[\w./-]*\w")

FAILED: Output = {"responses": ['{"error": "no response"}']}
"""Stands for a broken case: what the reference stores where a request failed for good (MMAU spec 3.2)."""


def tools(record: Record, output: Output, scoring: Scoring) -> Score:
    """Arguments on which the published evaluator stops do not match."""
    fixes = fixes_of(scoring)
    messages: Sequence[Message] | None = None  # what cannot be read
    with contextlib.suppress(replies.Unreadable):
        messages = replies.read(output["responses"][0], fixes=fixes)
    try:
        return _score(tool_use.judge(record, messages, fixes=fixes))
    except StopsOnReply as stop:
        verdict = tool_use.judge(record, messages, fixes=replace(fixes, odd_values_differ=True))
        return replace(_score(verdict), stops=stop.reason)


def plans(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = fixes_of(scoring)
    messages, stops = usable(output["responses"][0], scoring)
    return replace(_score(plan.judge(record, messages, fixes=fixes)), stops=stops)


def mathematics(record: Record, output: Output, scoring: Scoring) -> Score:
    """An answer that was not judged leaves the denominator under parity; one without content is wrong and stays."""
    fixes = fixes_of(scoring)
    messages, stops = usable((output.get("solutions") or output["responses"])[0], scoring)
    if stops:
        return replace(_score(math_task.unanswered(fixes), graded=1.0), explanation=stops, stops=stops)
    reply = output.get("judge")
    if reply is None:
        return _score(math_task.unanswered(fixes))
    answer = (messages[0].content or "") if messages else ""
    return _score(math_task.graded(record, str(reply), answer=answer, fixes=fixes))


def contest(record: Record, output: Output, scoring: Scoring) -> Score:
    """Every program runs: the tested model's programs, or those of ``solutions`` if another model wrote them."""
    fixes = fixes_of(scoring)
    if (
        "solutions" in output and output["solutions"] is None
    ):  # the record leaves the metric: its plan could not be read
        return Score(
            False, {}, ("no_plan",), "the plan could not be read, and the published evaluator drops the record"
        )
    programs, stops = usable_contents(output.get("solutions") or output["responses"], scoring)
    if "solutions" in output:
        stops = usable(output["responses"][0], scoring)[1] or stops  # of the plan
    return replace(_contest_score(contest_score.judge(record, programs, fixes=fixes)), stops=stops)


def contest_parsing(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = fixes_of(scoring)
    messages, stops = usable(output["responses"][0], scoring)
    return replace(_score(contest_score.judge_understand(record, contents(messages), fixes=fixes)), stops=stops)


def contest_retry(record: Record, output: Output, scoring: Scoring) -> Score:
    """A record counts in the rate if its problem was not solved at first."""
    fixes = fixes_of(scoring)
    programs, stops = usable_contents(output["responses"], scoring)
    first = output.get("first") or {}
    known = first.get("scoring") == scoring
    values = first["values"] if known else contest_score.judge(record, programs, fixes=fixes).values
    solved = values["solved"]
    if "retried" not in output:
        text = "solved at first: nothing to retry" if solved else "it was not retried"
        return Score(bool(solved), retry_values(solved), (), text, stops=stops)
    programs, more_stops = usable_contents(output["retried"], scoring)
    again = contest_score.judge(record, programs, fixes=fixes)
    found = retry_values(solved, again)
    return Score(bool(again.passed), found, again.labels, again.explanation, stops=stops or more_stops)


def retry_values(solved: float, again: Verdict | None = None) -> dict[str, float]:
    """The values that a record adds to the columns of ``tables.RETRY``. ``solved``: at the first try, 0 or 1.
    ``again``: the verdict on the second try, if there was one."""
    retried = again.values if again else {"solved": 0.0, "score": 0.0}
    return {
        "solved": solved,
        RECORDS: 1.0,
        "retried": float(again is not None),
        "retried_solved": retried["solved"],
        "retried_score": retried["score"],
    }


def notebook(record: Record, output: Output, scoring: Scoring, *, writes: bool = True) -> Score:
    """``writes``: the responses hold cells; else they hold answers about given ones."""
    fixes = fixes_of(scoring)
    solutions = output.get("solutions") or ()
    written = [*output["responses"], *output.get("retried", ())] if writes else []
    stops = [_stop_of_cells(record, one, scoring, fixes) for one in written]
    answered = []
    for solution in solutions:
        answers, stop = _answers(record, solution, scoring, fixes)
        answered.append(notebook_score.AnsweredSolution(solution["execution_success"], answers))
        stops.append(stop)
    try:
        verdict = notebook_score.judge(record, answered, fixes=fixes)
    except StopsOnReply as stop_of_answers:
        verdict = notebook_score.judge(record, [replace(one, answers=None) for one in answered], fixes=fixes)
        stops.append(stop_of_answers.reason)
    score = _score(verdict)
    errors = [one["error"].strip().splitlines()[-1] for one in solutions if one["error"].strip()]
    explanation = "; ".join([score.explanation, *errors[:1]])
    return replace(score, explanation=explanation, group=_notebook_of(record), stops=next(filter(None, stops), ""))


def _stop_of_cells(record: Record, response: str, scoring: Scoring, fixes: Fixes) -> str:
    """Why the published evaluator stops on a reply that should hold cells; empty: it does not."""
    messages, stops = usable(response, scoring)
    try:
        cells.build(record, contents(messages), fixes=fixes)
    except StopsOnReply as stop:
        return stop.reason
    return stops


def _answers(record: Record, solution: Output, scoring: Scoring, fixes: Fixes) -> tuple[Any, str]:
    """The answers about a solution, and why the published evaluator stops there. Older outputs hold them decoded."""
    if "answers" in solution or "reply" not in solution:
        return solution.get("answers"), solution.get("stops", "")
    messages, stops = usable(solution["reply"], scoring)
    try:
        return qa.read_answers(contents(messages)[0], replies.record_id(record), fixes=fixes), stops
    except StopsOnReply as stop:
        return None, stop.reason


def _notebook_of(record: Record) -> str:
    """What the turns of one notebook have in common, which no field tells: the data files that the first user
    message names."""
    content = next((message.get("content") for message in record["messages"] if message["role"] == "user"), None)
    return " ".join(sorted(set(_DATA_FILE.findall(content)))) if isinstance(content, str) else ""


def _contest_score(verdict: Verdict) -> Score:
    count = verdict.values["candidates"]
    return _score(verdict, pass_at_1=verdict.values["passed_candidates"] / count if count else 0.0)


def _score(verdict: Verdict, **more: float) -> Score:
    return Score(verdict.passed is True, {**verdict.values, **more, RECORDS: 1.0}, verdict.labels, verdict.explanation)


def usable(response: str, scoring: Scoring) -> tuple[Sequence[Message], str]:
    """As ``replies.usable``, by the scoring: strict reads a null content as an empty one, which stops nothing."""
    return replies.usable(response, fixes=fixes_of(scoring))


def usable_contents(responses: Sequence[str], scoring: Scoring) -> tuple[list[list[str | None]], str]:
    """The contents of each response, and the first reason why the published evaluator stops."""
    found = [usable(one, scoring) for one in responses]
    return [contents(messages) for messages, _ in found], next((stops for _, stops in found if stops), "")
