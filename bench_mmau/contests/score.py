"""Verdicts on programs and parsed answers: what of a reply is the program or the answer, its run against the tests of
one problem, and the comparison of outputs (docs/benchmarks/mmau.md#contests).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentgauge.core.text import compared, cut, shown_text
from bench_mmau.contests.execute import MOST_TEXT, ExecutionSettings, GroupRun, ProgramOutcome, run_group, run_in_pool
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.metrics import RecordVerdict
from bench_mmau.replies import NotScorable, text_of, why_useless

_TICKS = "```"
_OPEN = "```python"
_GUARD = "if __name__"
MARKER = "#ANSWER#"
_RELAXED = "ANSWER"
_TOLERANCE = 1e-6  # relative and absolute, strict only; usual for contest checkers

_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*$", re.MULTILINE)
_PROGRAM = ("", "python", "python3", "py", "py3")  # what may stand after an opening fence, strict only
_ANY_MARKER = re.compile(r"[#*_`]*\bANSWER\b[#*_`]*[ \t]*:?[#*_`]*")


def extract_code(text: str, fixes: Fixes = PARITY) -> str:
    """The program in a reply, stripped; "" if there is none (docs/benchmarks/mmau.md#programs [Q12])."""
    code = _first_block(text) if fixes.any_fence else _python_fence(text)
    if _GUARD in code and not fixes.main_guard:
        code = _without_guard(code)
    return code.strip()


def _python_fence(text: str) -> str:
    """What is between the first ```python and the next one, up to any three backticks. No fence: the whole text."""
    if _OPEN in text:
        text = text.split(_OPEN)[1]
    return text.split(_TICKS)[0]


def _without_guard(code: str) -> str:
    """Drop lines that contain the guard, anywhere in the line; every later line loses its first four characters."""
    kept, inside = [], False
    for line in code.split("\n"):
        if _GUARD in line:
            inside = True
        else:
            kept.append(line[4:] if inside else line)
    return "\n".join(kept)


def _first_block(text: str) -> str:
    """The first fenced block of Python. A reply may end before its fence closes, or go on in one that the prompt
    opened."""
    fences = list(_FENCE.finditer(text))
    if fences and len(fences) % 2 and not fences[0][1] and _is_program(text[: fences[0].start()]):
        return text[: fences[0].start()]
    for opening, closing in zip(fences[::2], [*fences[1::2], None], strict=False):
        if opening[1].lower() in _PROGRAM:
            return text[opening.end() : closing.start() if closing else len(text)]
    return "" if fences else text


def origin(text: str, fixes: Fixes = PARITY) -> str:
    """What of a reply's form may be why its program fails, for an explanation; empty: nothing."""
    if not text.strip():
        return "the reply has no text"
    before, *rest = text.split(_TICKS)
    if not rest:
        return "the reply has no code fence, so that its whole text was taken for the program"
    if len(rest) == 1 and _is_program(before):
        return ""  # it closes the fence that the prompt has opened
    opened = _OPEN in text
    if fixes.any_fence:
        opened = any(fence[1].lower() in _PROGRAM for fence in list(_FENCE.finditer(text))[::2])
    if not opened and fixes.any_fence:
        return "no code fence of the reply is one of Python"
    if not opened:
        return f"no code fence of the reply begins with {_OPEN}, so that the text before all fences was taken for it"
    return "the reply's code fence is not closed" if len(rest) % 2 else ""


def _is_program(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def parse_answer(text: str, fixes: Fixes = PARITY) -> str:
    """The answer of the parsing task; "" if there is none (docs/benchmarks/mmau.md#problem-parsing [Q23])."""
    if fixes.whole_answer:
        found = list(_ANY_MARKER.finditer(text))
        return text[found[-1].end() :] if found else ""
    if MARKER in text:
        return text.split(f"{MARKER}:")[-1]  # without the colon nothing splits: the whole reply
    if _RELAXED not in text:
        return ""
    rest = text.split(_RELAXED)[-1]
    return rest.split("\n")[1] if "\n" in rest else rest


def answer_is_empty(text: str, fixes: Fixes = PARITY) -> bool:
    """Whether a reply has an answer marker and no answer behind it."""
    return not parse_answer(text, fixes) and bool(_ANY_MARKER.search(text) if fixes.whole_answer else _RELAXED in text)


def output_match(printed: str, expected: str, fixes: Fixes = PARITY) -> bool:
    """Whether a program's output is right. Parity ignores blanks everywhere and no other difference
    (docs/benchmarks/mmau.md#outputs [Q17])."""
    if fixes.words:
        return _same_words(printed, expected)
    return printed.strip().replace(" ", "") == expected.strip().replace(" ", "")


def _same_words(printed: str, expected: str) -> bool:
    ours, theirs = printed.split(), expected.split()
    return len(ours) == len(theirs) and all(
        one == two or _close(one, two) for one, two in zip(ours, theirs, strict=True)
    )


def _close(printed: str, expected: str) -> bool:
    """Only where a fraction is expected: an integer that is not the right one is wrong, however long."""
    if not any(sign in expected for sign in ".eE"):
        return False
    try:
        one, two = float(printed), float(expected)
    except ValueError:
        return False
    return math.isfinite(one) and math.isclose(one, two, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def understand_match(answer: str, expected: str) -> bool:
    """Line by line as texts, without empty lines; a line of blanks is none of those
    (docs/benchmarks/mmau.md#problem-parsing)."""
    ours, theirs = ([line.strip() for line in text.split("\n") if line] for text in (answer, expected))
    return ours == theirs


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
class TestGroup:
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
    uncompiled: ProgramOutcome | None = None


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


def read_groups(problem: Mapping[str, Any]) -> tuple[TestGroup, ...]:
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
            groups.append(TestGroup(inputs, outputs))
    return tuple(groups)


def _texts(tests: object, key: str, name: str, number: str) -> tuple[str, ...]:
    found = tests.get(key) if isinstance(tests, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise NotScorable(
            number,
            f"{name}.{key} is {str(found)[:60]!r} where a list of strings is needed; correct or remove the record",
        )
    return tuple(found)


def _brief(groups: Sequence[TestGroup], group_seconds: float) -> float:
    """Seconds in which a program that does not compile must be found out for its first failure to tell all others: the
    tests of the largest group then take half of its time at most. 0 if an input fails by itself, for it is no UTF-8.
    """
    try:
        for group in groups:
            "".join(group.inputs).encode("utf-8")
    except UnicodeEncodeError:
        return 0.0
    return group_seconds / 2 / max((len(group.inputs) for group in groups), default=1)


def _run(code: str, group: TestGroup, where: ExecutionSettings, fixes: Fixes, brief: float) -> _Judged:
    run = partial(run_group, code, group.inputs, where, fixes, brief, group.most_text)
    return _judged(group, run_in_pool(where.pool, run), fixes)


def _judged(group: TestGroup, run: GroupRun, fixes: Fixes) -> _Judged:
    if run.outcomes is None:
        return _Judged(lost=run.reason)
    errors: list[dict[str, str]] = []
    for given, expected, outcome in zip(group.inputs, group.outputs, run.outcomes, strict=True):
        if error := _error(given, expected, outcome, fixes, _SHORT if errors else MOST_TEXT):
            errors.append(error)
    first = run.outcomes[0]
    uncompiled = first if first.status == "uncompiled" else None
    return _Judged(len(run.outcomes) - len(errors), tuple(errors), uncompiled=uncompiled)


def _candidate(groups: Sequence[TestGroup], judged: Sequence[_Judged], fixes: Fixes) -> Candidate:
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


def _error(given: str, expected: str, outcome: ProgramOutcome, fixes: Fixes, most: int) -> dict[str, str] | None:
    """The error of a test, if there is one. ``most``: characters of the outcome's text that are kept."""
    if outcome.status in ("timeout", "failed", "uncompiled"):
        return {"status": "runtime_error", "test_input": given, "error_message": outcome.text[:most]}
    if outcome.status == "passed" and output_match(outcome.text, expected, fixes):
        return None
    text = outcome.text[:most]
    return {"status": "wrong_output", "test_input": given, "expected_output": expected, "code_output": text}


Contents = Sequence[str | None]
"""The contents of the messages of one response; empty where the response holds none."""


@dataclass(frozen=True, slots=True)
class ContestVerdict(RecordVerdict):
    """``passed``: the record is solved. ``errors``: the log of each candidate."""

    errors: tuple[ErrorLog, ...] = ()


def judge(
    record: Mapping[str, Any],
    responses: Sequence[Contents],
    where: ExecutionSettings | None = None,
    *,
    fixes: Fixes = PARITY,
) -> ContestVerdict:
    """Run every candidate on the problem's tests, equal programs once; it is solved if any passes [Q18].

    Values: ``solved`` 0 or 1, ``score`` mean share of passed tests over the candidates, 0 to 1 (0 without candidates),
    ``candidates`` and ``passed_candidates`` as numbers. Blocks; do not call it in a thread of the pool.

    Raises StopsOnReply for a reply without content (parity), NotScorable for tests of an unknown shape, SandboxFault
    where nothing could be run.
    """
    number = record_id(record)
    texts = [content(contents, number, fixes) for contents in responses]
    codes = [extract_code(text, fixes) for text in texts]
    finishes = {code: start(code, record, where or ExecutionSettings(), fixes) for code in dict.fromkeys(codes)}
    found = {code: finish() for code, finish in finishes.items()}
    return _verdict([found[code] for code in codes], texts, fixes)


def _verdict(found: Sequence[Candidate], texts: Sequence[str], fixes: Fixes) -> ContestVerdict:
    count, passed = len(found), sum(one.passed for one in found)
    values = {
        "solved": float(passed > 0),
        "score": sum(one.score for one in found) / count if count else 0.0,
        "candidates": float(count),
        "passed_candidates": float(passed),
    }
    text = f"{passed} of {count} programs passed all tests" if count else "there is no program"
    labels = {label for one in found if not one.passed for label in _labels(one)}
    if found and not passed:
        form, is_program = origin(texts[0], fixes), found[0].compiles and isinstance(found[0].errors, list)
        why = _why(found[0]) if is_program or not form else f"is no program: {form}"
        text += f"; the first one {why}" + (f" ({form})" if form and is_program else "")
    return ContestVerdict(passed > 0, values, tuple(sorted(labels)), text, tuple(one.errors for one in found))


def _labels(found: Candidate) -> list[str]:
    if isinstance(found.errors, dict):
        return [found.errors["status"]]
    kinds = ["timeout" if error.get("error_message") == "timeout" else error["status"] for error in found.errors]
    return kinds + ["group_lost"] * bool(found.lost)


def _why(found: Candidate) -> str:
    if isinstance(found.errors, dict):
        return "is empty"
    if found.lost:
        return f"lost a group of tests: {found.lost[0]}"
    if not found.errors:
        return "has no tests to pass, because the problem has none"
    first = found.errors[0]
    if not found.compiles:
        return f"does not compile: {cut(first['error_message'].removeprefix('failed: '))}"
    if first["status"] == "runtime_error":
        return f"stopped on input {cut(first['test_input'])!r}: {cut(first['error_message'])}"
    return f"printed {cut(first['code_output'])!r} where {cut(first['expected_output'])!r} was expected"


def needs_retry(verdict: ContestVerdict) -> bool:
    """No candidate passed."""
    return not verdict.passed


def judge_understand(record: Mapping[str, Any], contents: Contents, *, fixes: Fixes = PARITY) -> RecordVerdict:
    """The problem-parsing task. Values: ``correct`` and ``valid``, 0 or 1 (docs/benchmarks/mmau.md#problem-parsing).

    Raises NotScorable for a missing target, and in parity StopsOnReply for a reply without content.
    """
    number, target = record_id(record, needed=False), record.get("target_output")
    if not isinstance(target, str):
        raise NotScorable(number, f"target_output is {target!r} where a string is needed; correct or remove the record")
    answer = parse_answer(content(contents, number, fixes), fixes)
    valid = bool(answer)
    correct = valid and understand_match(answer, target)
    if correct:
        text = ""
    elif valid:
        text = compared("the answer is wrong", repr(cut(target)), repr(cut(answer)))
    else:
        reply = content(contents, number, fixes)
        why = f"nothing follows {MARKER}" if answer_is_empty(reply, fixes) else f"the reply has no {MARKER} part"
        text = compared(why_useless(reply, why), repr(cut(target)), shown_text(reply))
    labels = () if correct else ("wrong_answer",) if valid else ("no_answer",)
    return RecordVerdict(correct, {"correct": float(correct), "valid": float(valid)}, labels, text)


def content(contents: Contents, number: str, fixes: Fixes = PARITY) -> str:
    """The first message's content; "" without a message. Raises StopsOnReply as ``text_of``."""
    return text_of(contents[0] if contents else "", number, fixes)


def record_id(record: Mapping[str, Any], *, needed: bool = True) -> str:
    """The record's id. Contest records need one; the parsing task does without."""
    found = record.get("id", record.get("deliverable_id") if not needed else None)
    if needed and not isinstance(found, str):
        raise NotScorable(
            "", f"a contest record's id is {cut(repr(found))} where a string is needed; correct or remove the record"
        )
    return "" if found is None else str(found)
