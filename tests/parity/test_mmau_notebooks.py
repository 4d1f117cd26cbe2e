"""The Apple MMAU notebook metrics on their golden vectors: cells really run, in the sandbox."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from bench_mmau.notebooks import cells, execute, score
from bench_mmau.replies import Client, read, record_id
from tests.every import every
from tests.parity.golden import cases, met, needs
from tests.parity.mmau_metrics import code_kaggle
from tests.parity.mmau_vectors import REFUSED, SINGLE, Canned, client, holds_pieces, same_requests

pytestmark = needs("mmau")


def _responses(record: Mapping[str, Any]) -> list[Any]:
    return list(record["n_responses"]) if "n_responses" in record else [record["response"]]


def _contents(record: Mapping[str, Any], client: Client = "openai") -> list[str | None]:
    return [message.content for stored in _responses(record) for message in read(stored, client)]


_Pairs = list[tuple[cells.Solution, execute.Execution]]


def _executed(case: Mapping[str, Any], generator: Canned) -> list[_Pairs]:
    """The solutions of each record and how they ran, in the order in which the reference asks its models."""
    records = case["input"]["responses"]
    if case["metric"] == "code_kaggle_oracle":
        return [[(cells.oracle(record), execute.given(record))] for record in records]
    found = [
        [(one, execute.run(one)) for one in cells.build(record, _contents(record, client(case)))] for record in records
    ]
    if case["metric"] == "code_kaggle_retry":
        for pairs in found:
            for place, (solution, execution) in enumerate(pairs):
                if score.needs_retry(execution):
                    messages = score.retry_request(solution, execution)
                    again = score.with_new_cells(solution, messages, generator.text(messages))
                    pairs[place] = (again, execute.run(again))
    return found


def _is_multimodal(model: str) -> bool:
    """How the published code decides whether a model sees. Our runs go by what is declared or found out [Q29]."""
    return any(part in model for part in ("gpt-4", "gemini", "claude-3"))


def _metric(case: Mapping[str, Any], generator: Canned, grader: Canned) -> dict[str, float]:
    verdicts = []
    for record, pairs in zip(case["input"]["responses"], _executed(case, generator), strict=True):
        answered = []
        for solution, execution in pairs:
            messages = score.question_request(record, solution, execution, sees=_is_multimodal(grader.name))
            answers = None if messages is None else score.read_answers(grader.text(messages), record_id(record))
            answered.append(score.AnsweredSolution(execution.success, answers))
        verdicts.append(score.judge(record, answered))
    return code_kaggle(verdicts)


def _result(case: Mapping[str, Any]) -> dict[str, Any]:
    """The case, with a number that is none where its metric has the text ``NaN``."""
    expected = case.get("expected")
    if not isinstance(expected, Mapping):
        return dict(case)
    return {**case, "expected": {key: math.nan if value == "NaN" else value for key, value in expected.items()}}


@pytest.mark.parametrize("case", cases("mmau", "code_kaggle.json"))
def test_metric(case: dict[str, Any]) -> None:
    models = {part: Canned(case, part) for part in ("response_generator", "grader")}
    generator, grader = models["response_generator"], models["grader"]
    if not met(_result(case), lambda: _metric(case, generator, grader), *REFUSED, within=SINGLE):
        return
    for part, model in models.items():
        assert model.left() == [], part
        same_requests(case, part, [{"messages": messages} for messages in model.asked])
    holds_pieces(case, grader.asked)


def _score(responses: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return code_kaggle(
        [score.judge(record, [score.AnsweredSolution(**one) for one in record["solutions"]]) for record in responses]
    )


def _build(responses: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            str(one.number): {
                "n_messages": len(one.messages),
                "last_message": one.messages[-1],
                "cells": [_without_id(cell) for cell in one.cells],
            }
            for one in cells.build(record, _contents(record))
        }
        for record in responses
    ]


def _without_id(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    return {key: value for key, value in cell.items() if key != "id"} | {"has_id": "id" in cell}


def _organise(cell: Any, image_expected: bool) -> dict[str, Any]:
    shown = execute.organise(cell, image_expected=image_expected)
    return {"cell": shown.cell, "images": list(shown.images), "image_part_types": ["image_url"] * len(shown.images)}


_OPS: dict[str, Callable[..., Any]] = {
    "kaggle.score": _score,
    "kaggle.build_solutions": _build,
    "kaggle.organise_cell": _organise,
    "kaggle.is_multimodal": _is_multimodal,
}


@every("case", cases("mmau", "code_kaggle_parts.json"))
def test_part(case: dict[str, Any]) -> None:
    given = _result(case) if case["op"] == "kaggle.score" else case
    met(given, lambda: _OPS[case["op"]](**case["args"]), *REFUSED, within=SINGLE)
