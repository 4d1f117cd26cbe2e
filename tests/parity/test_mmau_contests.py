"""The Apple MMAU contest metrics on their golden vectors: programs really run, in the sandbox."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bench_mmau import prompts
from bench_mmau.contests import score
from bench_mmau.contests.execute import ExecutionLimits, ExecutionSettings
from bench_mmau.replies import Client, contents, read
from tests.every import every
from tests.parity.golden import cases, listed, met, needs
from tests.parity.mmau_metrics import code_contests, code_contests_retry, code_contests_understand
from tests.parity.mmau_vectors import EXACT, REFUSED, Canned, client, holds_pieces, repeated, same_requests

pytestmark = [pytest.mark.slow, needs("mmau")]

ENDLESS = re.compile(r"while \w+:[\\n ]*(pass|x=x)")
"""What stands in a case whose program never ends."""


def _where(case: Mapping[str, Any]) -> ExecutionSettings:
    """The limits of the reference are 3 s a test and 4 s a group. An endless program gets the same verdict under
    shorter ones; a group has time for one such test and a part of another, as well."""
    return ExecutionSettings(ExecutionLimits(0.8, 1.2)) if ENDLESS.search(json.dumps(case)) else ExecutionSettings()


def _responses(record: Mapping[str, Any], client: Client) -> list[list[str | None]]:
    return [contents(read(stored, client)) for stored in record.get("n_responses", [record.get("response")])]


class _Solver(Canned):
    """The model of the second stage. Every request goes to it several times."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        super().__init__(case, "grader")
        self.requests: list[Mapping[str, Any]] = []

    def solve(self, request: Mapping[str, Any]) -> list[list[str | None]]:
        self.requests += repeated([request], prompts.REPEATS)
        return [contents(self.answer(request["messages"])) for _ in range(prompts.REPEATS)]


def _second_stage(request: Mapping[str, Any], solver: _Solver, where: ExecutionSettings) -> score.ContestVerdict:
    """Of an id with a colon the original loses the responses [Q19]; our data has no such id."""
    responses = solver.solve(request)
    return score.judge(request, () if ":" in request["id"] else responses, where)


def _plan(case: Mapping[str, Any], solver: _Solver, where: ExecutionSettings) -> dict[str, Any]:
    made = [prompts.solver_request(record, _first(record, case)) for record in case["input"]["responses"]]
    requests = [request for request in made if request is not None]
    verdicts = [_second_stage(request, solver, where) for request in requests]
    return code_contests(verdicts, _ids(requests), debug=_debug(case))


def _retry(case: Mapping[str, Any], solver: _Solver, where: ExecutionSettings) -> dict[str, Any]:
    """The tested model tries again, so that its client parses the replies."""
    solver.client = client(case)
    first = _judged(case, where)
    requests = [
        prompts.retry_request(record, _first(record, case), verdict)
        for record, verdict in zip(case["input"]["responses"], first, strict=True)
        if _debug(case) and score.needs_retry(verdict)
    ]
    retried = [_second_stage(request, solver, where) for request in requests]
    return code_contests_retry(first, retried, _ids(requests), debug=_debug(case))


def _ids(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return [record["id"] for record in records]


def _judged(case: Mapping[str, Any], where: ExecutionSettings) -> list[score.ContestVerdict]:
    return [score.judge(record, _responses(record, client(case)), where) for record in case["input"]["responses"]]


def _first(record: Mapping[str, Any], case: Mapping[str, Any]) -> Sequence[str | None]:
    return contents(read(record.get("response"), client(case)))


def _debug(case: Mapping[str, Any]) -> bool:
    debug: bool = case["input"].get("debug", False)
    return debug


def _metric(case: Mapping[str, Any], solver: _Solver, where: ExecutionSettings) -> dict[str, Any]:
    match case["metric"]:
        case "code_contests":
            return code_contests(_judged(case, where), _ids(case["input"]["responses"]), debug=_debug(case))
        case "code_contests_plan":
            return _plan(case, solver, where)
        case "code_contests_retry":
            return _retry(case, solver, where)
        case "code_contests_understand":
            records = case["input"]["responses"]
            verdicts = [score.judge_understand(record, _first(record, case)) for record in records]
            return code_contests_understand(verdicts)
    raise AssertionError(f"no test knows the metric {case['metric']}")


WHOLE = [
    *cases("mmau", "code_contests.json"),
    *cases("mmau", "code_contests_twostage.json"),
    *cases("mmau", "code_contests_understand.json"),
]


@pytest.mark.parametrize("case", WHOLE)
def test_metric(case: dict[str, Any]) -> None:
    _whole(case, _where(case))


def _whole(case: dict[str, Any], where: ExecutionSettings) -> None:
    solver = _Solver(case)
    if met(case, lambda: _metric(case, solver, where), *REFUSED, within=EXACT):
        assert solver.left() == []
        same_requests(case, "grader", solver.requests)
        holds_pieces(case, solver.asked)


def _run(args: Mapping[str, Any], where: ExecutionSettings) -> dict[str, Any]:
    found = score.start(args["code"], args["problem"], where)()
    return {"passed": found.passed, "score": found.score, "errors": found.errors}


@pytest.mark.parametrize("case", cases("mmau", "code_contests_run.json"))
def test_run(case: dict[str, Any]) -> None:
    assert case["op"] == "contests.run_tests"
    met(case, lambda: _run(case["args"], _where(case)), *REFUSED, within=EXACT)


@pytest.mark.long
def test_endless_programs_under_the_limits_of_the_reference() -> None:
    for name in ("code_contests.json", "code_contests_run.json"):
        for case in listed("mmau", name):
            if ENDLESS.search(json.dumps(case)):
                if "op" in case:
                    met(case, lambda: _run(case["args"], ExecutionSettings()), *REFUSED, within=EXACT)  # noqa: B023
                else:
                    _whole(case, ExecutionSettings())


_OPS = {
    "contests.extract_code": lambda args: score.extract_code(args["text"]),
    "contests.parse_answer": lambda args: score.parse_answer(args["text"]),
    "contests.output_match": lambda args: score.output_match(args["pred"], args["expected"]),
    "contests.understand_match": lambda args: score.understand_match(args["pred"], args["expected"]),
}


@every("case", cases("mmau", "code_contests_parts.json"))
def test_part(case: dict[str, Any]) -> None:
    met(case, lambda: _OPS[case["op"]](case["args"]), *REFUSED, within=EXACT)
