"""How often contest programs are started: equal ones once, those that do not compile once for all groups, with the
texts that each test would give by itself."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from agentgauge import sandbox
from agentgauge.run.thread_pools import drop_waiting, threads
from bench_mmau.contests import score
from bench_mmau.contests.execute import (
    MOST_TEXT,
    ExecutionLimits,
    ExecutionSettings,
    ProgramOutcome,
    ProgramPool,
    run_group,
)
from bench_mmau.contests.score import start
from bench_mmau.fixes import PARITY, STRICT

pytestmark = pytest.mark.slow

RIGHT, WRONG, PROSE, CUT = "print(int(input()) ** 2)", "print(int(input()))", "I cannot.", "print(int(input()"
PROBLEM: dict[str, Any] = {
    "id": "sq",
    "public_tests": {"input": ["2"], "output": ["4"]},
    "private_tests": {"input": ["3", "4"], "output": ["9", "16"]},
    "generated_tests": {"input": ["5", "6", "7"], "output": ["25", "36", "49"]},
}
LOST = "\ud800"
"""An input that is not UTF-8: its test fails before the program is looked at."""


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExecutionSettings]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pool = ProgramPool(64)
    yield ExecutionSettings(ExecutionLimits(), pool)
    pool.close()


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each start of the sandbox, how many tests were to be run in it."""
    seen, real = list[int](), sandbox.run

    def counted(*arguments: Any, **options: Any) -> sandbox.SandboxResult:
        seen.append(len(options["steps"].inputs))
        return real(*arguments, **options)

    monkeypatch.setattr(sandbox, "run", counted)
    return seen


@pytest.mark.parametrize(
    ("programs", "begun", "passed", "average"),
    [
        ([RIGHT] * 5, [1, 2, 3], 5, 1.0),
        ([RIGHT, WRONG, RIGHT], [1, 1, 2, 2, 3, 3], 2, 2 / 3),
        ([PROSE] * 5, [1], 0, 0.0),
        ([PROSE, CUT, PROSE], [1, 1], 0, 0.0),
        ([CUT, RIGHT], [1, 1, 2, 3], 1, 0.5),
        (["raise SyntaxError"], [1, 2, 3], 0, 0.0),
        (["import sys\nsys.exit()"] * 2, [1, 2, 3], 0, 0.0),
        ([RIGHT, RIGHT + "\n#"], [1, 1, 2, 2, 3, 3], 2, 1.0),
        (["", ""], [], 0, 0.0),
    ],
)
def test_what_is_started(programs, begun, passed, average, where, starts) -> None:
    found = score.judge(PROBLEM, [[program] for program in programs], where)
    assert sorted(starts) == begun
    assert found.values["candidates"] == len(programs)
    assert (found.values["passed_candidates"], found.values["score"]) == (passed, pytest.approx(average))
    assert len(found.errors) == len(programs)


UNCOMPILED = {
    "prose": PROSE,
    "a null byte": "print(1)\x00",
    "a surrogate": "print('\ud800')",
    "a wrong future": "from __future__ import braces",
    "a late future": "x = 1\nfrom __future__ import annotations",
    "found by the compiler, not the parser": "return 5",
    "deep": "-" * 3000 + "1",
    "too deep for the parser": "not " * 100_000 + "a",
    "brackets": "(" * 300,
    "digits": "x = " + "9" * 5000,
    "tabs and blanks": "if 1:\n\tx = 1\n        y = 2",
    "after a warning": "x = 1\nx is 1\nx y",
    "typographic quotes": "x = “a”",
}


@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
@pytest.mark.parametrize("code", UNCOMPILED.values(), ids=UNCOMPILED)
def test_the_first_failure_to_compile_has_the_text_of_every_other(code, fixes, where) -> None:
    each = run_group(code, ["1", "2"], where, fixes).outcomes
    known = run_group(code, ["1", "2"], where, fixes, brief=1.0).outcomes
    assert each and known
    assert [one.status for one in (*each, *known)] == ["failed", "failed", "uncompiled", "uncompiled"]
    assert [one.text for one in each] == [one.text for one in known]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("# coding: nonsense\nprint(25)", "passed"),
        ("x = 1\nif x is 1: print(25)", "passed"),
        ("exec('x y')", "failed"),
        ("raise SyntaxError('invalid syntax')", "failed"),
        ("import json\njson.loads('{')", "failed"),
    ],
)
def test_what_compiles_is_run_on_every_input(code, status, where) -> None:
    outcomes = run_group(code, ["1", "2"], where, brief=1.0).outcomes
    assert outcomes and [one.status for one in outcomes] == [status] * 2


def test_a_program_that_crashes_the_compiler_harms_only_itself(where) -> None:
    """Python 3.11 dies of this one."""
    assert not start(
        "[a " + "for a in a " * 100_000 + "]", {"id": "x", "public_tests": PROBLEM["public_tests"]}, where
    )().passed


def test_inputs_that_fail_by_themselves_keep_their_texts(where, starts) -> None:
    tests = {"input": ["1", LOST], "output": ["1", "1"]}
    errors = start(PROSE, {"id": "x", "public_tests": tests, "private_tests": tests}, where)().errors
    assert isinstance(errors, list) and starts == [2, 2]
    assert ["invalid syntax" in error["error_message"] for error in errors] == [True, False] * 2


def test_a_group_that_would_be_late_with_its_failures_runs(where, starts) -> None:
    """No time for the group, so that no failure is soon enough to tell the others."""
    hasty = ExecutionSettings(ExecutionLimits(group_seconds=0.0), where.pool)
    assert not start(PROSE, PROBLEM, hasty)().passed
    assert starts == [1, 2, 3]


def test_a_program_that_says_so_itself_gains_nothing(where) -> None:
    code = "import sys\nframe = sys._getframe()\nwhile 'channel' not in frame.f_locals: frame = frame.f_back\n"
    code += "frame.f_locals['channel'].answer(b'[\"uncompiled\", \"x\", false]')\nsys.exit()"
    assert run_group(code, ["1", "2"], where, brief=1.0).outcomes == (ProgramOutcome("uncompiled", "x"),) * 2


# Jobs in turn


@pytest.mark.parametrize(
    ("jobs", "until", "done"), [([1, 2, 3], 9, [1, 2, 3]), ([1, 2, 3], 1, [1]), ([1, 2, 3], 2, [1, 2]), ([], 1, [])]
)
def test_jobs_in_turn(jobs, until, done, where) -> None:
    assert where.pool.in_turn([lambda job=job: job for job in jobs], until=lambda last: last == until).result(9) == done


def test_a_failure_ends_jobs_in_turn(where) -> None:
    begun: list[int] = []
    with pytest.raises(ZeroDivisionError):
        where.pool.in_turn([lambda: 1 // 0, lambda: begun.append(1)], until=lambda last: False).result(9)
    assert begun == []


def test_jobs_in_turn_end_with_their_threads() -> None:
    """As at the end of a run that is cut short: what runs goes on, what would follow is cancelled."""
    begun: list[int] = []
    pool = ProgramPool(1, lambda: threads("turns", 1))
    jobs = [drop_waiting, lambda: begun.append(1)]
    with pytest.raises(CancelledError):
        pool.in_turn(jobs, until=lambda last: False).result(9)
    assert begun == []


# Long outputs

LONG = "print('x' * 20_000_000)"
BLANKS = "print(' ' * 5_000_000 + str(int(input()) ** 2) + ' ' * 5_000_000)"
LOUD = "raise ValueError('y' * 20_000_000)"


@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
@pytest.mark.parametrize(
    ("code", "status", "kept"),
    [
        (LONG, "too_long", "x" * MOST_TEXT),
        (BLANKS, "passed", "4"),
        (LOUD, "failed", ("failed: " + "y" * MOST_TEXT)[:MOST_TEXT]),
        (f"print('z' * {MOST_TEXT - 1})", "passed", "z" * (MOST_TEXT - 1) + "\n"),
    ],
    ids=["long", "blanks", "error", "just fits"],
)
def test_no_more_of_an_output_is_kept_than_can_be_right(code, status, kept, fixes, where) -> None:
    assert run_group(code, ["2"], where, fixes).outcomes == (ProgramOutcome(status, kept),)


def test_a_right_output_may_be_long(where) -> None:
    words = " ".join(["word"] * MOST_TEXT)
    tests = {"input": ["", ""], "output": [words, words + "s"]}
    found = start(f"print(' '.join(['word'] * {MOST_TEXT}))", {"id": "x", "public_tests": tests}, where)()
    assert found.score == 0.5


@pytest.mark.parametrize("code", [LONG, LOUD], ids=["output", "error"])
def test_only_the_first_error_of_a_group_keeps_a_long_text(code, where) -> None:
    found = start(code, PROBLEM, where)()
    lengths = [len(error.get("code_output", error.get("error_message"))) for error in found.errors]
    assert lengths == [MOST_TEXT, MOST_TEXT, 1000, MOST_TEXT, 1000, 1000] and found.score == 0.0


def test_what_long_outputs_take_of_memory_does_not_grow_with_them(where) -> None:
    """Four programs that print 20 MB for each of three tests."""
    tests = {"input": ["1"] * 3, "output": ["1"] * 3}
    tracemalloc.start()
    finishes = [start(f"{LONG}  # {number}", {"id": "x", "public_tests": tests}, where) for number in range(4)]
    assert [finish().score for finish in finishes] == [0.0] * 4
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60 << 20
