"""The Apple MMAU notebook metrics on their golden vectors: cells really run, in the sandbox."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from bench_mmau.errors import NotScorable
from bench_mmau.notebooks import cells, execute, outputs, qa, retry, score
from bench_mmau.replies import read, record_id, responses_of
from tests.parity.golden import golden_folder, load

pytestmark = pytest.mark.skipif(golden_folder("mmau") is None, reason="no golden data for mmau")

FILES = ("code_kaggle.json", "code_kaggle_parts.json")
COUNTS = (16, 48)  # a vector that went missing must not pass silently


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in (load("mmau", name) or {}).get("cases", [])]


def test_every_vector_is_here() -> None:
    assert tuple(len(_cases(name)) for name in FILES) == COUNTS


def _contents(record: Mapping[str, Any]) -> list[str | None]:
    return [message.content for stored in responses_of(record) for message in read(stored)]


class _Model:
    """Canned replies, one per request, and what was asked."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        assert described.get("client", "openai") == "openai"
        self.name = described.get("model", "")
        self._replies: Iterator[str] = iter(described.get("replies", []))
        self.asked: list[Sequence[Mapping[str, Any]]] = []

    def ask(self, messages: Sequence[Mapping[str, Any]]) -> str | None:
        self.asked.append(messages)
        return read(next(self._replies))[0].content

    def left(self) -> list[str]:
        return list(self._replies)


_Pairs = list[tuple[cells.Solution, execute.Execution]]


def _executed(case: Mapping[str, Any], generator: _Model) -> list[_Pairs]:
    """The solutions of each record and how they ran, in the order in which the reference asks its models."""
    records = case["input"]["responses"]
    if case["metric"] == "code_kaggle_oracle":
        return [[(cells.oracle(record), execute.given(record))] for record in records]
    found = [[(one, execute.run(one)) for one in cells.build(record, _contents(record))] for record in records]
    if case["metric"] == "code_kaggle_retry":
        for pairs in found:
            for place, (solution, execution) in enumerate(pairs):
                if retry.needed(execution):
                    messages = retry.request(solution, execution)
                    again = retry.replaced(solution, messages, generator.ask(messages))
                    pairs[place] = (again, execute.run(again))
    return found


def _metric(case: Mapping[str, Any], generator: _Model, grader: _Model) -> dict[str, float]:
    verdicts = []
    for record, pairs in zip(case["input"]["responses"], _executed(case, generator), strict=True):
        answered = []
        for solution, execution in pairs:
            messages = qa.request(record, solution, execution, sees=qa.can_see(grader.name))
            answers = None if messages is None else qa.read_answers(grader.ask(messages), record_id(record))
            answered.append(score.Answered(execution.success, answers))
        verdicts.append(score.judge(record, answered))
    return score.metric(verdicts)


def _agree(found: Mapping[str, float], expected: Mapping[str, Any]) -> None:
    """Same keys, numbers within 1e-6."""
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if value == "NaN":
            assert math.isnan(found[key]), key
        else:
            assert found[key] == pytest.approx(value, abs=1e-6, rel=0), key


def _request(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = messages[-1]["content"]
    return {
        "roles": [message["role"] for message in messages],
        "last_content": "text" if isinstance(last, str) else {"parts": [part["type"] for part in last]},
    }


@pytest.mark.parametrize("case", _cases("code_kaggle.json"))
def test_metric(case: dict[str, Any]) -> None:
    generator, grader = (_Model(case["input"].get(name, {})) for name in ("response_generator", "grader"))
    _agree(_metric(case, generator, grader), case["expected"])
    assert generator.left() == grader.left() == []
    assert {
        name: [_request(one) for one in model.asked] for name, model in (("grader", grader), ("response_generator", generator))
    } == case["expected_requests"]
    for messages, pieces in zip(grader.asked, case.get("grader_contains", [[]] * len(grader.asked)), strict=True):
        last = messages[-1]["content"]
        text = last if isinstance(last, str) else json.dumps(messages)
        assert [piece for piece in pieces if piece not in text] == []


def _score(responses: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return score.metric([score.judge(record, [score.Answered(**one) for one in record["solutions"]]) for record in responses])


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
    shown = outputs.organise(cell, image_expected=image_expected)
    return {"cell": shown.cell, "images": list(shown.images), "image_part_types": ["image_url"] * len(shown.images)}


_OPS: dict[str, Callable[..., Any]] = {
    "kaggle.score": _score,
    "kaggle.build_solutions": _build,
    "kaggle.organise_cell": _organise,
    "kaggle.is_multimodal": qa.is_multimodal,
}


@pytest.mark.parametrize("case", _cases("code_kaggle_parts.json"))
def test_part(case: dict[str, Any]) -> None:
    operation = _OPS[case["op"]]
    if "expected_error" in case:
        with pytest.raises(NotScorable):
            operation(**case["args"])
    elif case["op"] == "kaggle.score":
        _agree(operation(**case["args"]), case["expected"])
    else:
        assert operation(**case["args"]) == case["expected"]
