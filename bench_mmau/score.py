"""Scores a stored output, with one function for each family of tasks. Pure, except that contest programs run again.

A reply on which the published evaluator stops is scored as that evaluator scores an invalid one, and ``Score.stops``
says why it stops (docs/benchmarks/mmau.md#replies-without-an-answer).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.text import cut
from agentgauge.core.types import Json, Score, Scoring
from bench_mmau import mathematics as math_task
from bench_mmau import replies
from bench_mmau.contests import score as contest_score
from bench_mmau.fixes import Fixes, fixes_of
from bench_mmau.metrics import RECORDS, RecordVerdict
from bench_mmau.notebooks import cells
from bench_mmau.notebooks import score as notebook_score
from bench_mmau.replies import ReplyMessage, StopsOnReply, contents
from bench_mmau.tool_use.score import judge_calls, judge_plan

Record = Mapping[str, Any]
Output = Mapping[str, Json]

_DATA_FILE = re.compile(r"\.\./input/[\w./-]*\w")

FAILED: Output = {"responses": ['{"error": "no response"}']}
"""Stands for a broken case: what the reference stores where a request failed for good
(docs/benchmarks/mmau.md#retries)."""


def tools(record: Record, output: Output, scoring: Scoring) -> Score:
    """Arguments on which the published evaluator stops do not match."""
    fixes = fixes_of(scoring)
    try:
        messages = replies.read(output["responses"][0], fixes=fixes)
    except replies.Unreadable as error:
        score = _score(judge_calls(record, None, fixes=fixes))
        why = score.explanation.replace("cannot be read", f"cannot be read ({error})", 1)
        return replace(score, explanation=why)
    try:
        return _score(judge_calls(record, messages, fixes=fixes))
    except StopsOnReply as stop:
        verdict = judge_calls(record, messages, fixes=replace(fixes, odd_values_differ=True))
        return replace(_score(verdict), stops=stop.reason)


def plans(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = fixes_of(scoring)
    messages, stops = usable(output["responses"][0], scoring)
    return _stopped(_score(judge_plan(record, messages, fixes=fixes)), stops)


def mathematics(record: Record, output: Output, scoring: Scoring) -> Score:
    """An answer that was not judged leaves the denominator under parity; one without content is wrong and stays."""
    fixes = fixes_of(scoring)
    solved = output.get("solutions")
    messages, stops = usable((solved or output["responses"])[0], scoring)
    if stops:
        return _stopped(_score(math_task.unanswered(fixes), graded=1.0), stops)
    reply, answer = output.get("judge"), (messages[0].content or "") if messages else ""
    if reply is None:
        return _score(math_task.unanswered(fixes, text=answer, of="the solver's reply" if solved else "the reply"))
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
    score = _contest_score(contest_score.judge(record, programs, fixes=fixes))
    if "solutions" not in output:
        return replace(score, stops=stops)
    (plan,), stops_of_plan = usable_contents(output["responses"][:1], scoring)
    if not score.passed and not contest_score.content(plan, "", fixes).strip():
        score = replace(score, explanation=f"the plan has no text; {score.explanation}")
    return replace(score, stops=stops_of_plan or stops)


def contest_parsing(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = fixes_of(scoring)
    messages, stops = usable(output["responses"][0], scoring)
    return _stopped(_score(contest_score.judge_understand(record, contents(messages), fixes=fixes)), stops)


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


def retry_values(solved: float, again: RecordVerdict | None = None) -> dict[str, float]:
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
    written = [_cells(record, one, scoring, fixes) for one in _written(output, writes)]
    stops = [stop for stop, _ in written]
    answered = []
    for solution in solutions:
        answers, stop, problem = _answers(record, solution, scoring, fixes)
        answered.append(notebook_score.AnsweredSolution(solution["execution_success"], answers, problem))
        stops.append(stop)
    without = written[0][1] if written and all(problem for _, problem in written) else ""
    try:
        verdict = notebook_score.judge(record, answered, without=without, fixes=fixes)
    except StopsOnReply as stop_of_answers:
        without_answers = [replace(one, answers=None, problem=stop_of_answers.reason) for one in answered]
        verdict = notebook_score.judge(record, without_answers, without=without, fixes=fixes)
        stops.append(stop_of_answers.reason)
    score = _score(verdict)
    errors = [one["error"].strip().splitlines()[-1] for one in solutions if one["error"].strip()]
    again = [problem for _, problem in written[len(output["responses"]) :] if problem and not score.values["executed"]]
    parts = [score.explanation, *errors[:1], *(f"the second reply has no cells: {why}" for why in again[:1])]
    explanation = "; ".join(parts if not without else parts[:1])
    return replace(score, explanation=explanation, group=_notebook_of(record), stops=next(filter(None, stops), ""))


def _written(output: Output, writes: bool) -> Sequence[str]:
    """The replies that should hold cells, the second tries after the first ones."""
    return [*output["responses"], *output.get("retried", ())] if writes else []


def _cells(record: Record, response: str, scoring: Scoring, fixes: Fixes) -> tuple[str, str]:
    """Why the published evaluator stops on a reply that should hold cells, and why there are none. Empty: neither."""
    messages, stops = usable(response, scoring)
    try:
        found = cells.build(record, contents(messages), fixes=fixes)
    except StopsOnReply as stop:
        return stop.reason, stop.reason
    if stops or any(not one.problem for one in found):
        return stops, stops
    return "", _no_json((contents(messages) or [""])[0] or "", "a list of notebook cells")


def _answers(record: Record, solution: Output, scoring: Scoring, fixes: Fixes) -> tuple[Any, str, str]:
    """The answers about a solution, why the published evaluator stops there, and why there are none. Older outputs
    hold the answers decoded."""
    stops = solution.get("stops", "")
    if "answers" in solution:
        return solution["answers"], stops, stops
    if "reply" not in solution:
        return None, stops, stops or "there is no output to ask about"
    messages, stops = usable(solution["reply"], scoring)
    content = contents(messages)[0]
    try:
        asked = len(record.get("questions", ()))
        answers = notebook_score.read_answers(content, replies.record_id(record), questions=asked, fixes=fixes)
    except StopsOnReply as stop:
        return None, stop.reason, stop.reason
    return answers, stops, "" if answers is not None else stops or _no_json(content or "", "a list of answers")


def _no_json(text: str, wanted: str) -> str:
    """Why a reply does not hold what is wanted, as JSON."""
    try:
        json.loads(cells.without_fences(text))
    except (ValueError, RecursionError) as error:
        return replies.why_useless(text, f"the reply is no JSON ({cut(str(error))})")
    return f"the reply is JSON, but not {wanted}"


def _notebook_of(record: Record) -> str:
    """What the turns of one notebook have in common, which no field tells: the data files that the first user
    message names."""
    content = next((message.get("content") for message in record["messages"] if message["role"] == "user"), None)
    return " ".join(sorted(set(_DATA_FILE.findall(content)))) if isinstance(content, str) else ""


def _contest_score(verdict: RecordVerdict) -> Score:
    count = verdict.values["candidates"]
    return _score(verdict, pass_at_1=verdict.values["passed_candidates"] / count if count else 0.0)


def _score(verdict: RecordVerdict, **more: float) -> Score:
    return Score(verdict.passed is True, {**verdict.values, **more, RECORDS: 1.0}, verdict.labels, verdict.explanation)


def _stopped(score: Score, stops: str) -> Score:
    """The score of a reply on which the published evaluator may stop: that is then why it is wrong."""
    return replace(score, explanation=stops or score.explanation, stops=stops)


def usable(response: str, scoring: Scoring) -> tuple[Sequence[ReplyMessage], str]:
    """As ``replies.usable``, by the scoring: strict reads a null content as an empty one, which stops nothing."""
    return replies.usable(response, fixes=fixes_of(scoring))


def usable_contents(responses: Sequence[str], scoring: Scoring) -> tuple[list[list[str | None]], str]:
    """The contents of each response, and the first reason why the published evaluator stops."""
    found = [usable(one, scoring) for one in responses]
    return [contents(messages) for messages, _ in found], next((stops for _, stops in found if stops), "")
