"""From a stored output to a score, one function for each family of tasks. Pure, but that contest programs run again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench_mmau import math_task, plan, replies, tool_use
from bench_mmau.contests import fixes as contest_fixes
from bench_mmau.contests import score as contest_score
from bench_mmau.notebooks import fixes as notebook_fixes
from bench_mmau.notebooks import score as notebook_score
from bench_mmau.replies import Message
from bench_mmau.tables import RECORDS
from harness.types import Json, Score, Scoring

Record = Mapping[str, Any]
Output = Mapping[str, Json]

_DATA_FILE = re.compile(r"\.\./input/[\w./-]*\w")

FAILED: Output = {"responses": ['{"error": "no response"}']}
"""Stands for a broken case: what the reference stores where a request failed for good (MMAU spec 3.2)."""


def tools(record: Record, output: Output, scoring: Scoring) -> Score:
    strict = scoring == "strict"
    return _score(
        tool_use.judge_stored(
            {**record, "response": output["responses"][0]},
            fixes=tool_use.STRICT if strict else tool_use.PARITY,
            reply_fixes=replies.STRICT if strict else replies.PARITY,
        )
    )


def plans(record: Record, output: Output, scoring: Scoring) -> Score:
    return _score(plan.judge(record, _messages(output, scoring), fixes=plan.STRICT if scoring == "strict" else plan.PARITY))


def mathematics(record: Record, output: Output, scoring: Scoring) -> Score:
    """An answer that was not judged leaves the denominator under parity."""
    fixes = math_task.STRICT if scoring == "strict" else math_task.PARITY
    reply = output.get("judge")
    verdict = math_task.unanswered(fixes) if reply is None else math_task.graded(record, str(reply), fixes=fixes)
    judged = verdict.values["valid"] - verdict.values["invalid"]
    return _score(verdict, graded=1.0 - verdict.values["invalid"] if fixes.unanswered_wrong else judged)


def contest(record: Record, output: Output, scoring: Scoring) -> Score:
    """Every program runs. The tested model's, or those of ``solutions`` where another model wrote them."""
    fixes = contest_fixes.STRICT if scoring == "strict" else contest_fixes.PARITY
    if "solutions" in output and output["solutions"] is None:  # the record leaves the metric: its plan could not be read
        return Score(False, {}, ("no_plan",), "the plan could not be read, and the published evaluator drops the record")
    programs = output.get("solutions") or output["responses"]
    return _contest_score(contest_score.judge(record, _programs(programs), fixes=fixes))


def contest_parsing(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = contest_fixes.STRICT if scoring == "strict" else contest_fixes.PARITY
    return _score(contest_score.judge_understand(record, replies.contents(_messages(output, scoring)), fixes=fixes))


def contest_retry(record: Record, output: Output, scoring: Scoring) -> Score:
    """A record counts in the rate if its problem was not solved at first."""
    fixes = contest_fixes.STRICT if scoring == "strict" else contest_fixes.PARITY
    first = output.get("first") or {}
    if first.get("scoring") == scoring:
        values = first["values"]
    else:
        values = contest_score.judge(record, _programs(output["responses"]), fixes=fixes).values
    base = {"solved": values["solved"], RECORDS: 1.0}
    if "retried" not in output:
        text = "solved at first: nothing to retry" if values["solved"] else "it was not retried"
        return Score(bool(values["solved"]), {**base, "retried": 0.0, "retried_solved": 0.0, "retried_score": 0.0}, (), text)
    again = contest_score.judge(record, _programs(output["retried"]), fixes=fixes)
    found = {"retried": 1.0, "retried_solved": again.values["solved"], "retried_score": again.values["score"]}
    return Score(bool(again.passed), {**base, **found}, again.labels, again.explanation)


def notebook(record: Record, output: Output, scoring: Scoring) -> Score:
    fixes = notebook_fixes.STRICT if scoring == "strict" else notebook_fixes.PARITY
    solutions = output.get("solutions") or ()
    answered = [notebook_score.Answered(one["execution_success"], one["answers"]) for one in solutions]
    verdict = notebook_score.judge(record, answered, fixes=fixes)
    found = verdict.values
    kind = "image" if found["image"] else "text"
    share = found["correct"] / found["questions"] if found["questions"] else 0.0
    score = _score(verdict, share=share, **{f"{kind}_correct": found["correct"], f"{kind}_questions": found["questions"]})
    errors = [one["error"].strip().splitlines()[-1] for one in solutions if one["error"].strip()]
    return replace(score, explanation="; ".join([score.explanation, *errors[:1]]), group=_notebook_of(record))


def _notebook_of(record: Record) -> str:
    """What the turns of one notebook have in common, which no field tells: the data files that the first user message names."""
    content = next((message.get("content") for message in record["messages"] if message["role"] == "user"), None)
    return " ".join(sorted(set(_DATA_FILE.findall(content)))) if isinstance(content, str) else ""


def _contest_score(verdict: contest_score.Verdict) -> Score:
    count = verdict.values["candidates"]
    return _score(verdict, pass_at_1=verdict.values["passed_candidates"] / count if count else 0.0)


def _score(verdict: Any, **more: float) -> Score:
    return Score(verdict.passed is True, {**verdict.values, **more, RECORDS: 1.0}, verdict.labels, verdict.explanation)


def _messages(output: Output, scoring: Scoring) -> Sequence[Message]:
    return replies.read(output["responses"][0], fixes=replies.STRICT if scoring == "strict" else replies.PARITY)


def _programs(responses: Sequence[str]) -> list[list[str | None]]:
    return [replies.contents(replies.read(one)) for one in responses]
