"""Verdicts per record of the contest tasks (MMAU spec 6.4 to 6.7).

A response is given as the contents of its messages, in order; another module parses stored responses. Only the first
message counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.text import compared, cut, shown_text
from bench_mmau.average import Verdict
from bench_mmau.contests.candidate import Candidate, ErrorLog, start
from bench_mmau.contests.execute import ExecutionSettings
from bench_mmau.contests.extract import MARKER, answer_is_empty, extract_code, origin, parse_answer, understand_match
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import text_of, why_useless

Contents = Sequence[str | None]
"""The contents of the messages of one response; empty where the response holds none."""


@dataclass(frozen=True, slots=True)
class ContestVerdict(Verdict):
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


def judge_understand(record: Mapping[str, Any], contents: Contents, *, fixes: Fixes = PARITY) -> Verdict:
    """The problem-parsing task. Values: ``correct`` and ``valid``, 0 or 1 (MMAU spec 6.7).

    Raises NotScorable for a missing target, and in parity StopsOnReply for a reply without content.
    """
    number, target = record_id(record, needed=False), record.get("target_output")
    if not isinstance(target, str):
        raise NotScorable(number, f"target_output is {target!r} where a text is needed; correct or remove the record")
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
    return Verdict(correct, {"correct": float(correct), "valid": float(valid)}, labels, text)


def content(contents: Contents, number: str, fixes: Fixes = PARITY) -> str:
    """The first message's content; "" without a message. Raises StopsOnReply as ``text_of``."""
    return text_of(contents[0] if contents else "", number, fixes)


def record_id(record: Mapping[str, Any], *, needed: bool = True) -> str:
    """The record's id. Contest records need one; the parsing task does without."""
    found = record.get("id", record.get("deliverable_id") if not needed else None)
    if needed and not isinstance(found, str):
        raise NotScorable(
            "", f"a contest record's id is {cut(repr(found))} where a text is needed; correct or remove the record"
        )
    return "" if found is None else str(found)
