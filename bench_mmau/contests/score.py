"""Verdicts per record and the metrics of the contest tasks (MMAU spec 6.4 to 6.7).

A response is given as the contents of its messages, in order: parsing stored responses is another module's business.
Only the first message counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_mmau.contests.candidate import Candidate, ErrorLog, Running, nothing, start
from bench_mmau.contests.execute import Workplace
from bench_mmau.contests.extract import extract_code, parse_answer, understand_match
from bench_mmau.contests.fixes import PARITY, Fixes
from bench_mmau.tool_use.errors import NotScorable, StopsOnReply
from bench_mmau.tool_use.replies import NO_TEXT

Contents = Sequence[str | None]
"""The contents of the messages of one response; empty where the response holds none."""

_SHOWN = 300  # characters of an error in an explanation


@dataclass(frozen=True, slots=True)
class Verdict:
    """``passed``: the record is solved. ``values``: the numbers that the metric adds up. ``errors``: the log of each
    candidate."""

    record_id: str
    passed: bool | None
    values: Mapping[str, float]
    labels: tuple[str, ...] = ()
    explanation: str = ""
    errors: tuple[ErrorLog, ...] = ()


def judge(
    record: Mapping[str, Any],
    responses: Sequence[Contents],
    where: Workplace | None = None,
    *,
    fixes: Fixes = PARITY,
) -> Verdict:
    """Run every candidate on the problem's tests; it is solved if any passes [Q18].

    Values: ``solved`` 0 or 1, ``score`` mean share of passed tests over the candidates, 0 to 1 (0 without candidates),
    ``candidates`` and ``passed_candidates`` as numbers. Blocks; do not call it in a thread of the pool.

    Raises StopsOnReply for a reply without content (parity), NotScorable for tests of an unknown shape, SandboxFault
    where nothing could be run.
    """
    number = record_id(record)
    codes = [extract_code(content(contents, number, fixes), fixes) for contents in responses]
    place = where or Workplace()
    runs = [start(code, record, place, fixes) if code else None for code in codes]
    return _verdict(number, [_finished(run) for run in runs])


def _finished(run: Running | None) -> Candidate:
    return run.finish() if run else nothing()


def _verdict(number: str, found: Sequence[Candidate]) -> Verdict:
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
        text += f"; the first one: {_why(found[0])}"
    return Verdict(number, passed > 0, values, tuple(sorted(labels)), text, tuple(one.errors for one in found))


def _labels(found: Candidate) -> list[str]:
    if isinstance(found.errors, dict):
        return [found.errors["status"]]
    kinds = ["timeout" if error.get("error_message") == "timeout" else error["status"] for error in found.errors]
    return kinds + ["group_lost"] * bool(found.lost)


def _why(found: Candidate) -> str:
    if isinstance(found.errors, dict):
        return "empty program"
    if found.lost:
        return f"a group of tests is lost, {found.lost[0]}"
    if not found.errors:
        return "the problem has no tests"
    first = found.errors[0]
    if first["status"] == "runtime_error":
        return f"{first['error_message'][:_SHOWN]} on input {first['test_input'][:_SHOWN]!r}"
    return f"printed {first['code_output'][:_SHOWN]!r} where {first['expected_output'][:_SHOWN]!r} was expected"


def second_stage(
    record: Mapping[str, Any],
    responses: Sequence[Contents],
    where: Workplace | None = None,
    *,
    fixes: Fixes = PARITY,
) -> Verdict:
    """As ``judge``, for responses to a request that was repeated: grouping them loses those of an id with a colon
    [Q19]."""
    kept = responses if fixes.colons or ":" not in record_id(record) else ()
    return judge(record, kept, where, fixes=fixes)


def code_contests(verdicts: Sequence[Verdict], *, debug: bool = False) -> dict[str, Any]:
    """The metrics ``code_contests`` and ``code_contests_plan``: any-of-n rates, all 0 to 1. Raises NotScorable
    without records."""
    count = len(verdicts)
    if not count:
        raise NotScorable(
            "", "there is no record to score where at least one is needed; check the input file and the limit"
        )
    result: dict[str, Any] = {
        "pass_rate": _sum(verdicts, "solved") / count,
        "average_score": _sum(verdicts, "score") / count,
        "candidates_per_example": _sum(verdicts, "candidates") / count,
        "number_of_examples": count,
    }
    if debug:
        result["errors"] = {
            one.record_id: {f"candidate_{i}": log for i, log in enumerate(one.errors)} for one in verdicts
        }
        result["global_stats"] = {str(place): _statistics(one) for place, one in enumerate(verdicts)}
    return result


def _statistics(verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.record_id,
        "total_candidates": int(verdict.values["candidates"]),
        "passed_candidates": int(verdict.values["passed_candidates"]),
        "avg_score": verdict.values["score"],
    }


def code_contests_retry(
    first: Sequence[Verdict], retried: Sequence[Verdict], *, debug: bool = False, fixes: Fixes = PARITY
) -> dict[str, Any]:
    """``code_contests`` over the retried problems only, those that ``needs_retry`` says [Q21].

    Parity raises NotScorable without debug output and where nothing failed at first; strict gives
    ``number_of_examples`` 0 then, and no rates. Both raise without records.
    """
    if not first:
        raise NotScorable(
            "", "there is no record to score where at least one is needed; check the input file and the limit"
        )
    if not fixes.retry_freely and not debug:
        raise NotScorable("", "the published retry metric needs the debug output; switch it on, or score strictly")
    if not any(needs_retry(verdict) for verdict in first):
        if fixes.retry_freely:
            return {"number_of_examples": 0}
        raise NotScorable(
            "", "every problem was solved at first where the published retry metric needs a failed one; score strictly"
        )
    return code_contests(retried, debug=debug)


def needs_retry(verdict: Verdict) -> bool:
    """No candidate passed."""
    return not verdict.passed


def pass_at_k(verdicts: Sequence[Verdict], k: int) -> float | None:
    """The unbiased estimate of pass@k, 0 to 1: the chance that k candidates drawn without return hold a right one.

    It stands beside the published any-of-n rate [Q18]. None without records, or where a record has fewer than k
    candidates.
    """
    if k < 1:
        raise ValueError(f"k must be 1 or more, not {k}")
    chances = [_chance(int(one.values["candidates"]), int(one.values["passed_candidates"]), k) for one in verdicts]
    known = [chance for chance in chances if chance is not None]
    return sum(known) / len(known) if known and len(known) == len(chances) else None


def _chance(count: int, right: int, k: int) -> float | None:
    return 1 - math.comb(count - right, k) / math.comb(count, k) if k <= count else None


def judge_understand(record: Mapping[str, Any], contents: Contents, *, fixes: Fixes = PARITY) -> Verdict:
    """The problem-parsing task. Values: ``correct`` and ``valid``, 0 or 1 (MMAU spec 6.7).

    Raises NotScorable for a missing target, and in parity StopsOnReply for a reply without content.
    """
    number, target = record_id(record, needed=False), record.get("target_output")
    if not isinstance(target, str):
        raise NotScorable(number, f"target_output is {target!r} where a text is needed; mend or remove the record")
    answer = parse_answer(content(contents, number, fixes), fixes)
    valid = bool(answer)
    correct = valid and understand_match(answer, target)
    if not valid:
        text = "the reply holds no answer"
    else:
        text = f"answered {answer[:_SHOWN]!r}" + ("" if correct else f" where {target[:_SHOWN]!r} was expected")
    labels = () if correct else ("wrong_answer",) if valid else ("no_answer",)
    return Verdict(number, correct, {"correct": float(correct), "valid": float(valid)}, labels, text)


def code_contests_understand(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Rates 0 to 1. Raises NotScorable without records."""
    count = len(verdicts)
    if not count:
        raise NotScorable(
            "", "there is no record to score where at least one is needed; check the input file and the limit"
        )
    return {
        "accuracy": _sum(verdicts, "correct") / count,
        "valid_ans_rate": _sum(verdicts, "valid") / count,
        "number_of_examples": count,
    }


def content(contents: Contents, number: str, fixes: Fixes = PARITY) -> str:
    """The first message's content; "" where there is no message.

    A null content raises StopsOnReply in parity (MMAU spec 10).
    """
    first = contents[0] if contents else ""
    if first is None:
        if fixes.null_is_empty:
            return ""
        raise StopsOnReply(number, NO_TEXT)
    return first


def record_id(record: Mapping[str, Any], *, needed: bool = True) -> str:
    """The record's id. Contest records need one; the parsing task does without."""
    found = record.get("id", record.get("deliverable_id") if not needed else None)
    if needed and not isinstance(found, str):
        raise NotScorable("", f"a contest record's id is {found!r} where a text is needed; mend or remove the record")
    return "" if found is None else str(found)


def _sum(verdicts: Sequence[Verdict], key: str) -> float:
    return sum(verdict.values[key] for verdict in verdicts)
