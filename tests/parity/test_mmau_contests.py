"""The Apple MMAU contest metrics on their golden vectors: programs really run, in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from bench_mmau.contests import candidate, extract, prompts, score
from bench_mmau.errors import NotScorable
from tests.parity.golden import golden_folder, load

pytestmark = pytest.mark.skipif(golden_folder("mmau") is None, reason="no golden data for mmau")

FILES = (
    "code_contests.json",
    "code_contests_run.json",
    "code_contests_twostage.json",
    "code_contests_understand.json",
    "code_contests_parts.json",
)
COUNTS = (39, 8, 11, 9, 70)  # a vector that went missing must not pass silently


def _cases(*names: str) -> list[Any]:
    return [
        pytest.param(case, id=case.get("id", str(place)))
        for name in names
        for place, case in enumerate((load("mmau", name) or {}).get("cases", []))
    ]


def test_every_vector_is_here() -> None:
    assert tuple(len(_cases(name)) for name in FILES) == COUNTS


def _contents(stored: str) -> list[str | None]:
    """The contents of an OpenAI response, trimmed as the reference does it [Q1]."""
    choices = json.loads(stored).get("choices") or [{"message": {"content": ""}}]
    found = [choice["message"].get("content") for choice in choices]
    return [text and text.replace("\n", "<n>").lstrip().replace("<n>", "\n") for text in found]


def _responses(record: Mapping[str, Any]) -> list[list[str | None]]:
    return [_contents(stored) for stored in record.get("n_responses", [record.get("response")])]


class _Solver:
    """Canned replies, one per request, and what was asked."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        grader = case["input"].get("grader", {"replies": []})
        assert grader.get("client", "openai") == "openai"
        self.replies: Iterator[str] = iter(grader["replies"])
        self.asked: list[Mapping[str, Any]] = []

    def ask(self, request: Mapping[str, Any]) -> list[list[str | None]]:
        self.asked += [{**request, "id": f"{request['id']}:::{number}"} for number in range(prompts.REPEATS)]
        return [_contents(next(self.replies)) for _ in range(prompts.REPEATS)]


def _plan(records: Sequence[Mapping[str, Any]], debug: bool, solver: _Solver) -> dict[str, Any]:
    verdicts = []
    for record in records:
        request = prompts.solver_request(record, _contents(record["response"]))
        if request is not None:
            verdicts.append(score.second_stage(request, solver.ask(request)))
    return score.code_contests(verdicts, debug=debug)


def _retry(records: Sequence[Mapping[str, Any]], debug: bool, solver: _Solver) -> dict[str, Any]:
    first = [score.judge(record, _responses(record)) for record in records]
    retried = []
    for record, verdict in zip(records, first, strict=True):
        if debug and score.needs_retry(verdict):
            request = prompts.retry_request(record, _contents(record["response"]), verdict)
            retried.append(score.second_stage(request, solver.ask(request)))
    return score.code_contests_retry(first, retried, debug=debug)


def _metric(case: Mapping[str, Any], solver: _Solver) -> dict[str, Any]:
    records, debug = case["input"]["responses"], case["input"].get("debug", False)
    match case["metric"]:
        case "code_contests":
            return score.code_contests([score.judge(record, _responses(record)) for record in records], debug=debug)
        case "code_contests_plan":
            return _plan(records, debug, solver)
        case "code_contests_retry":
            return _retry(records, debug, solver)
        case "code_contests_understand":
            return score.code_contests_understand([score.judge_understand(record, _contents(record["response"])) for record in records])
    raise AssertionError(f"no test knows the metric {case['metric']}")


def _agrees(found: Any, expected: Any) -> None:
    """Same keys and texts; numbers within 1e-9."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            _agrees(found[key], value)
    elif isinstance(expected, list):
        assert isinstance(found, list | tuple)
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            _agrees(one, two)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=1e-9, rel=0)
    else:
        assert found == expected


@pytest.mark.parametrize("case", _cases("code_contests.json", "code_contests_twostage.json", "code_contests_understand.json"))
def test_metric(case: dict[str, Any]) -> None:
    solver = _Solver(case)
    if "expected_error" in case:
        with pytest.raises(NotScorable):
            _metric(case, solver)
    else:
        _agrees(_metric(case, solver), case["expected"])
    assert list(solver.replies) == []
    for request, wanted in zip(solver.asked, case.get("expected_requests", {}).get("grader", []), strict=True):
        assert {"roles": [message["role"] for message in request["messages"]], "id": request["id"]} == {
            key: wanted[key] for key in ("roles", "id")
        }
        assert wanted["last_content"] == "text"
        assert isinstance(request["messages"][-1]["content"], str)
    for request, pieces in zip(solver.asked, case.get("grader_contains", [[]] * len(solver.asked)), strict=True):
        assert [piece for piece in pieces if piece not in request["messages"][-1]["content"]] == []


@pytest.mark.parametrize("case", _cases("code_contests_run.json"))
def test_run(case: dict[str, Any]) -> None:
    assert case["op"] == "contests.run_tests"
    found = candidate.run_tests(**case["args"])
    _agrees({"passed": found.passed, "score": found.score, "errors": found.errors}, case["expected"])


_OPS = {
    "contests.extract_code": extract.extract_code,
    "contests.parse_answer": extract.parse_answer,
    "contests.output_match": lambda pred, expected: extract.output_match(pred, expected),
    "contests.understand_match": lambda pred, expected: extract.understand_match(pred, expected),
}


@pytest.mark.parametrize("case", _cases("code_contests_parts.json"))
def test_part(case: dict[str, Any]) -> None:
    assert _OPS[case["op"]](**case["args"]) == case["expected"]
