"""Scoring response files of the original, whichever client wrote them (MMAU spec 3.4, 3.6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_mmau import replies
from bench_mmau.errors import NotScorable
from bench_mmau.math_task import PARITY, STRICT, grader_request
from bench_mmau.oracle import mathematics
from bench_mmau.run import JUDGE, Output
from bench_mmau.tables import Column, recipe
from harness.errors import DataProblem, UsageProblem
from harness.estimate import totals
from harness.model.types import CaseKey, ChatRequest
from harness.types import Score, Scoring

_NEEDS_A_MODEL = {
    **dict.fromkeys(("ds_e2e", "ds_codegen", "ds_oracle", "ds_retry"), "a model that answers questions about the notebooks"),
    "contest_planner": "a solver for the plans",
    "contest_retry": "the tested model for the second try",
    "math_planner": "a solver for the plans",
}


def score_file(
    task: str,
    predictions: Path,
    judge: Callable[[Mapping[str, Any], Output, Scoring], Score],
    rule: Sequence[Column],
    scoring: Scoring,
) -> dict[str, Any]:
    """``metrics`` by the tables' columns, ``samples`` what became of each record.

    Mathematics is judged by comparing answers as text or number, since a judge model is not asked here. Raises UsageProblem
    for a task of which a response file says only half, and DataProblem for a damaged file.
    """
    short = task.removeprefix("mmau.")
    if short in _NEEDS_A_MODEL:
        raise UsageProblem(f"a response file of {task} cannot be scored by itself: that takes {_NEEDS_A_MODEL[short]}; use pytest")
    scored = []
    for record in _lines(predictions):
        number = replies.record_id(record)
        scored.append((number, judge(record, _output(record, scoring, short), scoring)))
    if not scored:
        raise DataProblem(f"{predictions} holds no record; give a response file of the original")
    return {
        "metrics": dict(recipe(rule).fn(totals(score.values for _, score in scored))),
        "samples": [
            {"id": number, "passed": one.passed, "values": dict(one.values), "labels": list(one.labels), "explanation": one.explanation}
            for number, one in scored
        ],
    }


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    for place, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataProblem(f"{file}, line {place}: not valid JSON ({error}); each line is one record") from None
        if not isinstance(record, dict) or "response" not in record:
            raise DataProblem(f"{file}, line {place}: must be a record with a response; give a response file of the original")
        yield record


def _output(record: Mapping[str, Any], scoring: Scoring, task: str) -> Output:
    """The record's responses in OpenAI's shape, as a run of ours keeps them."""
    fixes = replies.STRICT if scoring == "strict" else replies.PARITY
    said = []
    for response in replies.responses_of(record):
        try:
            messages = replies.read(response, client_of(response), fixes=fixes)
        except replies.Unreadable as problem:
            if task.startswith("tool_"):  # counts as a parsing error there (MMAU spec 4.1)
                said.append("unreadable")
                continue
            raise NotScorable(replies.record_id(record), f"its response cannot be read: {problem}; mend or remove it") from problem
        said.append(json.dumps({"choices": [{"index": place, "message": _plain(one)} for place, one in enumerate(messages)]}))
    output: dict[str, Any] = {"responses": said}
    if task.startswith("math_"):
        request = grader_request(record, replies.read(said[0]), fixes=STRICT if scoring == "strict" else PARITY)
        if request is not None:
            asked = ChatRequest(tuple(request["messages"]), case=CaseKey(task, "", part=JUDGE))
            output["judge"] = mathematics(record, asked).text
    return output


def client_of(response: object) -> replies.Client:
    """Which client wrote a stored response: its shape tells."""
    try:
        decoded = json.loads(response) if isinstance(response, str) else response
    except ValueError:
        return "openai"
    if isinstance(decoded, Mapping) and "choices" not in decoded:
        if "candidates" in decoded:
            return "gemini"
        if isinstance(decoded.get("content"), list):
            return "anthropic"
    return "openai"


def _plain(message: replies.Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in message.calls or ()
    ]
    said: dict[str, Any] = {"role": "assistant", "content": message.content}
    return {**said, "tool_calls": calls} if message.calls is not None else said
