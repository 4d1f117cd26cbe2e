"""One program against the tests of one problem (MMAU spec 6.2 to 6.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench_mmau.contests.execute import MOST_TEXT, ExecutionSettings, GroupRun, Outcome, run_group, run_in_pool
from bench_mmau.contests.extract import output_match
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.tool_use.errors import NotScorable

GROUPS = ("public_tests", "private_tests", "generated_tests")  # in this order
EMPTY = {"status": "empty_solution"}
_SHORT = 1_000  # characters of a text that are kept of a group's later errors; no prompt shows those

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

    @property
    def most_text(self) -> int:
        """``most`` of ``run_group``: a power of two, for the program could see it."""
        return max(MOST_TEXT, 1 << max(map(len, self.outputs)).bit_length())


@dataclass(frozen=True, slots=True)
class _Judged:
    """The verdict on one group, without the outputs. ``lost``: why all its tests failed. ``uncompiled``: the failure
    that is the same on every input."""

    right: int = 0
    errors: tuple[dict[str, str], ...] = ()
    lost: str | None = None
    uncompiled: Outcome | None = None


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
    jobs = [partial(_run, code, group, where, fixes, brief) for group in groups]
    found = where.pool.in_turn(jobs, until=lambda group: group.uncompiled is not None)
    return lambda: _candidate(groups, found.result(), fixes)


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


def _run(code: str, group: Group, where: ExecutionSettings, fixes: Fixes, brief: float) -> _Judged:
    run = partial(run_group, code, group.inputs, where, fixes, brief, group.most_text)
    return _judged(group, run_in_pool(where.pool, run), fixes)


def _judged(group: Group, run: GroupRun, fixes: Fixes) -> _Judged:
    if run.outcomes is None:
        return _Judged(lost=run.reason)
    errors: list[dict[str, str]] = []
    for given, expected, outcome in zip(group.inputs, group.outputs, run.outcomes, strict=True):
        if error := _error(given, expected, outcome, fixes, _SHORT if errors else MOST_TEXT):
            errors.append(error)
    first = run.outcomes[0]
    uncompiled = first if first.status == "uncompiled" else None
    return _Judged(len(run.outcomes) - len(errors), tuple(errors), uncompiled=uncompiled)


def _candidate(groups: Sequence[Group], judged: Sequence[_Judged], fixes: Fixes) -> Candidate:
    """A failure to compile, which is that of the last group that ran, is that of the groups that did not run."""
    total = sum(len(group.inputs) for group in groups)
    uncompiled = judged[-1].uncompiled if judged else None
    if uncompiled:
        left = groups[len(judged) :]
        alike = [GroupRun((uncompiled,) * len(group.inputs), late=False) for group in left]
        judged = [*judged, *(_judged(group, run, fixes) for group, run in zip(left, alike, strict=True))]
    right = sum(group.right for group in judged)
    errors = [error for group in judged for error in group.errors]
    lost = tuple(group.lost for group in judged if group.lost is not None)
    return Candidate(0 < total == right, right / total if total else 0.0, errors, lost, compiles=uncompiled is None)


def _error(given: str, expected: str, outcome: Outcome, fixes: Fixes, most: int) -> dict[str, str] | None:
    """The error of a test, if there is one. ``most``: characters of the outcome's text that are kept."""
    if outcome.status in ("timeout", "failed", "uncompiled"):
        return {"status": "runtime_error", "test_input": given, "error_message": outcome.text[:most]}
    if outcome.status == "passed" and output_match(outcome.text, expected, fixes):
        return None
    text = outcome.text[:most]
    return {"status": "wrong_output", "test_input": given, "expected_output": expected, "code_output": text}
