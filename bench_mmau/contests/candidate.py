"""One program against the tests of one problem (MMAU spec 6.2 to 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench_mmau.contests.execute import ExecutionSettings, GroupRun, Outcome, run_in_pool
from bench_mmau.contests.extract import output_match
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.tool_use.errors import NotScorable

GROUPS = ("public_tests", "private_tests", "generated_tests")  # in this order
EMPTY = {"status": "empty_solution"}

ErrorLog = list[dict[str, str]] | dict[str, str]
"""One entry per failed test of the groups that are not lost; an object, not a list, for an empty program."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """``score``: share of tests passed, 0 to 1; 0 without tests. ``lost``: why whole groups failed, one text for each
    of them."""

    passed: bool
    score: float
    errors: ErrorLog
    lost: tuple[str, ...] = ()
    compiles: bool = True  # as far as it is known


@dataclass(frozen=True, slots=True)
class Group:
    """The tests of one group."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def start(
    code: str, problem: Mapping[str, Any], where: ExecutionSettings, fixes: Fixes = PARITY
) -> Callable[[], Candidate]:
    """Queue a program's groups in the pool. Returns a function that waits for them; call it outside of the pool's
    threads.

    The groups run one after the other. If one of them shows that the program does not compile, the later groups do not
    run.

    Raises NotScorable for tests in an unknown shape (not for an empty program, which the reference does not run); the
    wait raises SandboxFault and UsageProblem as ``agentgauge.sandbox.run``.
    """
    if not code:
        return lambda: Candidate(False, 0.0, dict(EMPTY))
    groups = read_groups(problem)
    brief = _brief(groups, where.limits.group_seconds)
    jobs = [partial(run_in_pool, code, group.inputs, where, fixes, brief) for group in groups]
    runs = where.pool.in_turn(jobs, until=_uncompiled)
    return lambda: _judged(groups, _for_all(groups, runs.result()), fixes)


def read_groups(problem: Mapping[str, Any]) -> tuple[Group, ...]:
    """The groups with tests, in the reference's order. Missing and empty ones are skipped."""
    number, groups = str(problem.get("id", "")), []
    for name in GROUPS:
        tests = problem.get(name)
        if not tests:
            continue
        inputs, outputs = (_texts(tests, key, name, number) for key in ("input", "output"))
        if len(inputs) != len(outputs):
            raise NotScorable(
                number,
                f"{name} has {len(inputs)} inputs and {len(outputs)} outputs where they must be equal; correct or"
                " remove the record",
            )
        if inputs:
            groups.append(Group(inputs, outputs))
    return tuple(groups)


def _texts(tests: object, key: str, name: str, number: str) -> tuple[str, ...]:
    found = tests.get(key) if isinstance(tests, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise NotScorable(
            number, f"{name}.{key} is {str(found)[:60]!r} where a list of texts is needed; correct or remove the record"
        )
    return tuple(found)


def _brief(groups: Sequence[Group], group_seconds: float) -> float:
    """Seconds in which a program that does not compile must be found out for its first failure to tell all others: the
    tests of the largest group then take half of its time at most. 0 if an input fails by itself, for it is no UTF-8.
    """
    try:
        for group in groups:
            "".join(group.inputs).encode("utf-8")
    except UnicodeEncodeError:
        return 0.0
    return group_seconds / 2 / max((len(group.inputs) for group in groups), default=1)


def _uncompiled(run: GroupRun) -> bool:
    return run.outcomes is not None and run.outcomes[0].status == "uncompiled"


def _for_all(groups: Sequence[Group], runs: Sequence[GroupRun]) -> Sequence[GroupRun]:
    """One run for each group: the failure that was the last outcome is that of the groups that did not run."""
    last = (runs[-1].outcomes or ())[:1] if runs else ()
    return [*runs, *(GroupRun(last * len(group.inputs), late=False) for group in groups[len(runs) :])]


def _judged(groups: Sequence[Group], runs: Sequence[GroupRun], fixes: Fixes) -> Candidate:
    total = sum(len(group.inputs) for group in groups)
    errors: list[dict[str, str]] = []
    right, lost = 0, []
    for group, run in zip(groups, runs, strict=True):
        if run.outcomes is None:
            lost.append(run.reason)
            continue
        for given, expected, outcome in zip(group.inputs, group.outputs, run.outcomes, strict=True):
            error = _error(given, expected, outcome, fixes)
            if error is None:
                right += 1
            else:
                errors.append(error)
    share = right / total if total else 0.0
    return Candidate(0 < total == right, share, errors, tuple(lost), compiles=not any(map(_uncompiled, runs)))


def _error(given: str, expected: str, outcome: Outcome, fixes: Fixes) -> dict[str, str] | None:
    if outcome.status != "passed":
        return {"status": "runtime_error", "test_input": given, "error_message": outcome.text}
    if output_match(outcome.text, expected, fixes):
        return None
    return {"status": "wrong_output", "test_input": given, "expected_output": expected, "code_output": outcome.text}
