"""Scores response files of the original, from any of its clients (docs/benchmarks/mmau.md#generation)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgauge.core.chat import CaseKey, ChatRequest
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.estimate import totals
from agentgauge.core.text import json_lines, parse_json
from agentgauge.core.types import Score, Scoring
from agentgauge.model.wire import clean
from bench_mmau import replies
from bench_mmau.fixes import fixes_of
from bench_mmau.mathematics import grader_request
from bench_mmau.metrics import TableColumn, formula
from bench_mmau.oracle import mathematics
from bench_mmau.run import JUDGE, Output
from bench_mmau.score import usable

_NEEDS_A_MODEL = {
    **dict.fromkeys(
        ("ds_e2e", "ds_codegen", "ds_oracle", "ds_retry"), "a model that answers questions about the notebooks"
    ),
    "contest_planner": "a solver for the plans",
    "contest_retry": "the tested model for the second try",
    "math_planner": "a solver for the plans",
}

_SAMPLED = ("contest_standard", "contest_solver")
"""Tasks whose records hold several responses; the other metrics read the field ``response`` alone
(docs/benchmarks/mmau.md#problems)."""


def score_file(
    task: str,
    predictions: Path,
    judge: Callable[[Mapping[str, Any], Output, Scoring], Score],
    rule: Sequence[TableColumn],
    scoring: Scoring,
) -> dict[str, Any]:
    """``metrics`` by the tables' columns, ``samples`` the result of each record, ``stops`` the records with a reply on
    which the published evaluator stops; such a reply counts as an invalid one.

    Mathematics is judged by comparing answers as text or number, because no judge model is called here. Raises
    UsageProblem for a task that a response file alone cannot score, and DataProblem for a damaged file.
    """
    short = task.removeprefix("mmau.")
    if short in _NEEDS_A_MODEL:
        raise UsageProblem(
            f"a response file of {task} cannot be scored by itself: that takes {_NEEDS_A_MODEL[short]}; use pytest"
        )
    scored = []
    for record in _lines(predictions):
        number = replies.record_id(record)
        output, problem = _output(record, scoring, short)
        score = judge(record, output, scoring)
        reason = score.stops and (problem or score.stops)
        scored.append((number, replace(score, explanation=clean(score.explanation), stops=clean(reason))))
    if not scored:
        raise DataProblem(f"{predictions} holds no record; give a response file of the original")
    return {
        "metrics": dict(formula(rule).compute(totals(score.values for _, score in scored))),
        "samples": [
            {
                "id": number,
                "passed": one.passed,
                "values": dict(one.values),
                "labels": list(one.labels),
                "explanation": one.explanation,
            }
            for number, one in scored
        ],
        "stops": [{"sample": number, "reason": one.stops} for number, one in scored if one.stops],
    }


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = json_lines(file)
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    for place, line in lines:
        try:
            record = parse_json(line)
        except ValueError as error:
            raise DataProblem(f"{file}, line {place}: not valid JSON ({error}); each line is one record") from None
        if not isinstance(record, dict) or "response" not in record:
            raise DataProblem(
                f"{file}, line {place}: must be a record with a response; give a response file of the original"
            )
        if not isinstance(record.get("n_responses", []), list):
            raise DataProblem(f"{file}, line {place}: n_responses must be a list of responses; correct the record")
        yield record


def _output(record: Mapping[str, Any], scoring: Scoring, task: str) -> tuple[Output, str]:
    """The record's responses in OpenAI's shape, as our runs keep them, and why the first unreadable one is that."""
    fixes = fixes_of(scoring)
    kept, problems = [], []
    for response in record.get("n_responses", [record["response"]]) if task in _SAMPLED else [record["response"]]:
        try:
            messages = replies.read(response, client_of(response), fixes=fixes)
        except replies.Unreadable as problem:
            kept.append("unreadable")
            problems.append(str(problem))
        else:
            choices = [{"index": place, "message": _plain(one)} for place, one in enumerate(messages)]
            kept.append(json.dumps({"choices": choices}))
    output: dict[str, Any] = {"responses": kept}
    if task.startswith("math_"):
        answer, _ = usable(kept[0], scoring)
        request = grader_request(record, answer, fixes=fixes)
        if request is not None:
            asked = ChatRequest(tuple(request["messages"]), case=CaseKey(task, "", role=JUDGE))
            output["judge"] = mathematics(record, asked).text
    return output, next(iter(problems), "")


def client_of(response: object) -> replies.Client:
    """The client that wrote a stored response, recognised by the response's shape."""
    try:
        decoded = json.loads(response) if isinstance(response, str) else response
    except (ValueError, RecursionError):
        return "openai"
    if isinstance(decoded, Mapping) and "choices" not in decoded:
        if "candidates" in decoded:
            return "gemini"
        if isinstance(decoded.get("content"), list):
            return "anthropic"
    return "openai"


def _plain(message: replies.ReplyMessage) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.calls or ()
    ]
    plain: dict[str, Any] = {"role": "assistant", "content": message.content}
    return {**plain, "tool_calls": calls} if message.calls is not None else plain
