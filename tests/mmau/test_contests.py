"""Apple MMAU contests beyond the golden vectors: strict fixes, the clock, the pool, the second stage."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.sandbox import StepAnswer
from bench_mmau import prompts
from bench_mmau.contests import execute, score
from bench_mmau.contests.execute import (
    ExecutionLimits,
    ExecutionSettings,
    GroupRun,
    ProgramOutcome,
    ProgramPool,
    run_group,
    run_in_pool,
)
from bench_mmau.contests.score import ContestVerdict, read_groups, start
from bench_mmau.fixes import PARITY, STRICT
from bench_mmau.replies import NotScorable

pytestmark = pytest.mark.slow

PROBLEM: dict[str, Any] = {
    "id": "sq",
    "description": "Square.",
    "public_tests": {"input": ["5\n", "6\n"], "output": ["25\n", "36\n"]},
}


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExecutionSettings]:
    """With slots that no other process shares, and more of them than work of others keeps busy."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pool = ProgramPool(64)
    yield ExecutionSettings(ExecutionLimits(test_seconds=0.5, group_seconds=1), pool)
    pool.close()


def _verdict(right: int, count: int, *errors: Any) -> ContestVerdict:
    values = {"solved": float(right > 0), "score": 0.5, "candidates": float(count), "passed_candidates": float(right)}
    return ContestVerdict(right > 0, values, errors=errors)


# Extraction and comparison


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```\nprint(1)\n```", "print(1)"),
        ("Sure!\n```py\nprint(1)\n```", "print(1)"),
        ("```Python\nprint(1)\n```\n```python\nprint(2)\n```", "print(1)"),
        ("```text\n1 2\n```\n```python\nprint(1)\n```", "print(1)"),
        ("```text\n1 2\n```", ""),
        ("print(1)\n```\nThat is all.", "print(1)"),
        ("print(1)\n```\nAn example:\n```\n1\n```\n", "print(1)"),
        ("Here it is:\n```python\nprint(1)", "print(1)"),
        ("Here it is:\n```\nprint(1)", "print(1)"),
        ("print(1)", "print(1)"),
        ("```python\nx = '```'\nprint(x)\n```", "x = '```'\nprint(x)"),
        ("```python\r\nprint(1)\r\n```", "print(1)"),
        ("if __name__ == '__main__':\n\tprint(1)", "if __name__ == '__main__':\n\tprint(1)"),
        ("", ""),
    ],
)
def test_strict_extraction(text: str, code: str) -> None:
    assert score.extract_code(text, STRICT) == code


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("1 2", "1  2\n", True),
        ("1 23", "12 3", False),
        ("1\r\n2", "1\n2", True),
        ("0.5", "0.50", True),
        ("0.33333334", "0.33333333", True),
        ("0.34", "0.33", False),
        ("1.0", "1", False),
        ("1000000001", "1000000000", False),
        ("nan", "0.5", False),
        ("inf", "1e400", False),
        ("YES", "yes", False),
        ("", "\n", True),
    ],
)
def test_strict_comparison(printed: str, expected: str, same: bool) -> None:
    assert score.output_match(printed, expected, STRICT) is same


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("#ANSWER# 9", "9"),
        ("ANSWER:\n1\n2", "\n1\n2"),
        ("**ANSWER**: 5", " 5"),
        ("#ANSWER#:a #ANSWER#:b", "b"),
        ("none", ""),
        ("answer: 1", ""),
    ],
)
def test_strict_answers(text: str, answer: str) -> None:
    assert score.parse_answer(text, STRICT) == answer


PIECES = st.lists(
    st.sampled_from(
        [
            "```",
            "```python",
            "```py",
            "if __name__",
            "#ANSWER#",
            ":",
            "ANSWER",
            "\n",
            " ",
            "    ",
            "x",
            "print(1)",
            "\r",
            "é",
            "\x00",
        ]
    )
).map("".join)


@given(PIECES)
def test_extraction_takes_any_text(text: str) -> None:
    for fixes in (PARITY, STRICT):
        code = score.extract_code(text, fixes)
        assert code == code.strip()
        assert isinstance(score.parse_answer(text, fixes), str)
    assert "```" not in score.extract_code(text)


@given(PIECES, PIECES)
def test_comparison_is_symmetric_and_knows_itself(one: str, two: str) -> None:
    assert score.output_match(one, two) == score.output_match(two, one)
    assert score.output_match(one, one)
    assert score.output_match(one, one, STRICT)
    assert score.understand_match(one, one)


# Running


@pytest.mark.parametrize(
    ("code", "parity", "strict"),
    [
        ("import sys\nprint(int(input()) ** 2)\nsys.exit(0)", 0.0, 1.0),
        ("print(int(input()) ** 2)\nexit()", 0.0, 1.0),
        ("print(int(input()) ** 2)\nexit(1)", 0.0, 0.0),
        ("import sys\nsys.stdout.buffer.write(b'%d' % int(input()) ** 2)", 0.0, 1.0),
        ("print(int(open(0).read()) ** 2)", 0.0, 1.0),
        ("import os\nprint(int(os.read(0, 99)) ** 2)", 0.0, 1.0),
        ("import sys\nprint(int(sys.stdin.buffer.readline()) ** 2)", 1.0, 1.0),
        ("if 'done' in globals():\n    raise ValueError\ndone = True\nprint(int(input()) ** 2)", 0.5, 1.0),
        ("if __name__ == '__main__':\n    print(int(input()) ** 2)", 0.0, 1.0),
        ("print(__name__ == 'builtins' and int(input()) ** 2)", 1.0, 0.0),
        ("print('' if input('') == '5' else 36)", 0.5, 0.5),
        ("import psutil", 0.0, 0.0),
        ("from __future__ import annotations\nprint(int(input()) ** 2)", 1.0, 1.0),
        ("raise KeyboardInterrupt", 0.0, 0.0),
        ("import multiprocessing\nwith multiprocessing.Lock():\n    print(int(input()) ** 2)", 1.0, 1.0),
        ("import multiprocessing\nmultiprocessing.Process().start()\nprint(int(input()) ** 2)", 0.0, 0.0),
        ("import tempfile\nwith tempfile.TemporaryFile():\n    print(int(input()) ** 2)", 1.0, 1.0),
        ("import tempfile\nwith tempfile.NamedTemporaryFile():\n    print(int(input()) ** 2)", 1.0, 1.0),
        ("import tempfile\nwith tempfile.TemporaryDirectory():\n    print(int(input()) ** 2)", 0.0, 0.0),
    ],
)
def test_parity_and_strict_runs(code: str, parity: float, strict: float, where: ExecutionSettings) -> None:
    assert start(code, PROBLEM, where)().score == parity
    assert start(code, PROBLEM, where, STRICT)().score == strict


def test_the_limit_of_the_group_is_parity_only(where: ExecutionSettings) -> None:
    code = (
        "import time\nbegan = time.process_time()\nwhile time.process_time() < began + 0.4:\n    pass\nprint(input())"
    )
    assert run_group(code, ["1", "2", "3"], where).outcomes is None
    assert run_group(code, ["1", "2", "3"], where, STRICT).outcomes == tuple(
        ProgramOutcome("passed", f"{n}\n") for n in (1, 2, 3)
    )


def test_waiting_is_measured_by_the_wall_clock(where: ExecutionSettings) -> None:
    assert run_group("import time\ntime.sleep(0.9)", ["1"], where).outcomes == (ProgramOutcome("timeout", "timeout"),)
    lost = run_group(
        "import time\nfor _ in range(9):\n    try:\n        time.sleep(9)\n    except Exception:\n        pass",
        ["1"],
        where,
    )
    assert (lost.outcomes, lost.late) == (None, True)


def test_a_full_machine_turns_no_right_answer_into_a_wrong_one(where: ExecutionSettings) -> None:
    code = "import time\nbegan = time.process_time()\nwhile time.process_time() < began + 0.3:\n    pass\nprint(5)"
    with ExitStack() as stack:
        for _ in range(8):
            burner = stack.enter_context(subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]))
            stack.callback(burner.kill)
        assert run_group(code, ["1"], where).outcomes == (ProgramOutcome("passed", "5\n"),)


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ([b'["passed", "1", false]'], True),
        ([b'["passed", "1", false]'] * 2, False),
        ([b'["fine", "1", false]'], False),
        ([b'["passed"]'], False),
        ([b"1"], False),
        ([b'{"passed": 1}'], False),
        ([b"[" * 100_000], False),
        ([b"\xff"], False),
        ([b""], False),
        ([], False),
    ],
)
def test_the_answers_of_the_runner_are_checked(answers: list[bytes], found: bool) -> None:
    result = execute.sandbox.SandboxResult(
        "ok", "", "noise", "", 0, 0.1, (), tuple(StepAnswer(answer, 1.5) for answer in answers)
    )
    assert (execute._read(result, 1, None).outcomes is not None) is found
    if found:
        assert execute._read(result, 1, 1.0) == GroupRun((ProgramOutcome("timeout", "timeout"),), True)
    ended = dataclasses.replace(result, status="memory", reason="too much")
    assert execute._read(ended, 1, None) == execute.GroupRun(None, False, "too much")


@pytest.mark.parametrize(
    "tests",
    [
        {"input": ["1"], "output": []},
        {"input": ["1"]},
        {"input": [1], "output": ["1"]},
        {"input": "1", "output": "1"},
        ["1"],
    ],
)
def test_tests_of_an_unknown_shape_are_refused(tests: object) -> None:
    with pytest.raises(NotScorable, match=r"public_tests.*correct or remove"):
        read_groups({"id": "sq", "public_tests": tests})


# The pool


def test_who_runs_alone_runs_alone() -> None:
    pool, together, most = ProgramPool(4), 0, 0
    lock, seen = threading.Lock(), []

    def beside() -> None:
        nonlocal together, most
        with pool.beside():
            with lock:
                together += 1
                most = max(most, together)
            threading.Event().wait(0.01)
            with lock:
                together -= 1

    def alone() -> None:
        nonlocal together
        with pool.alone():
            with lock:
                together += 1
                seen.append(together)
            threading.Event().wait(0.01)
            with lock:
                together -= 1

    jobs = [pool.submit(job) for job in (beside, alone, beside, beside, beside, alone) * 3]
    for job in jobs:
        job.result(10)
    pool.close()
    assert seen == [1] * 6
    assert most <= 4


def test_a_crowded_job_knows(where: ExecutionSettings) -> None:
    pool = where.pool
    with pool.beside() as first:
        assert not first.crowded
        with pool.beside() as second:
            assert first.crowded
            assert second.crowded
    with pool.beside() as third:
        assert not third.crowded


@pytest.mark.parametrize(("crowded", "late", "runs"), [(True, True, 2), (True, False, 1), (False, True, 1)])
def test_who_was_late_in_a_crowd_runs_once_more(crowded: bool, late: bool, runs: int, where: ExecutionSettings) -> None:
    answers = [GroupRun(None, late), GroupRun((ProgramOutcome("passed", "1"),), False)]
    with ExitStack() as stack:
        if crowded:
            stack.enter_context(where.pool.beside())
            release = threading.Timer(0.2, stack.pop_all().close)  # the second run waits for it
            release.start()
        found = run_in_pool(where.pool, lambda: answers.pop(0))
    assert 2 - len(answers) == runs
    assert (found.outcomes is not None) is (runs == 2)


# Verdicts and metrics


def test_a_verdict_explains_itself(where: ExecutionSettings) -> None:
    replies = [["```python\nprint(25)\n```"], [""], ["```python\nimport sys\nsys.exit()\n```"], []]
    found = score.judge(PROBLEM, replies, where)
    assert found.passed is False
    assert found.values == {"solved": 0, "score": 0.125, "candidates": 4, "passed_candidates": 0}
    assert found.labels == ("empty_solution", "group_lost", "wrong_output")
    assert (
        found.explanation
        == "0 of 4 programs passed all tests; the first one printed '25\\n' where '36\\n' was expected"
    )


def test_null_content(where: ExecutionSettings) -> None:
    with pytest.raises(NotScorable, match="null"):
        score.judge(PROBLEM, [[None]], where)
    assert score.judge(PROBLEM, [[None]], where, fixes=STRICT).labels == ("empty_solution",)
    with pytest.raises(NotScorable, match="null"):
        score.judge_understand({"target_output": "1"}, [None])
    assert score.judge_understand({"target_output": "1"}, [None], fixes=STRICT).labels == ("no_answer",)


# Requests


def test_a_solver_request_keeps_texts_as_they_are() -> None:
    record = {**PROBLEM, "description": "Print {plan}.", "prompt": "p", "response": "r", "messages": []}
    request = prompts.solver_request(record, ["use {description} and {x}"])
    assert request is not None
    assert {"prompt", "response"}.isdisjoint(request)
    text = request["messages"][0]["content"]
    assert "#PROBLEM#\nPrint {plan}.\n" in text
    assert "#PLAN#\nuse {description} and {x}\n" in text
    assert text.endswith("```python\n")


def test_a_plan_without_a_message() -> None:
    assert prompts.solver_request(PROBLEM, []) is None
    assert prompts.solver_request(PROBLEM, [], fixes=STRICT) is not None
    with pytest.raises(NotScorable, match="description"):
        prompts.solver_request({"id": "x"}, ["plan"])


WRONG = {"status": "wrong_output", "test_input": "1\n", "expected_output": "{test_input}", "code_output": "3"}
BROKEN = {"status": "runtime_error", "test_input": "1\n", "error_message": "failed: {x}"}


@pytest.mark.parametrize(
    ("said", "errors", "parts"),
    [
        (["code"], ([WRONG, BROKEN],), ["test 0", "1\n", "{test_input}", "3"]),
        (["code"], ([BROKEN, WRONG],), ["test 0", "1\n", "failed: {x}"]),
        ([""], ({"status": "empty_solution"},), [prompts.NOT_COMPILED]),
        ([], ({"status": "empty_solution"},), [prompts.NO_SOLUTION]),
        (["code"], ([],), [prompts.AGAIN]),
        (["code"], (), [prompts.AGAIN]),
    ],
)
def test_a_retry_names_the_first_failure(said: list[str | None], errors: tuple[Any, ...], parts: list[str]) -> None:
    record = {**PROBLEM, "messages": [{"role": "user", "content": "Solve it."}]}
    request = prompts.retry_request(record, said, _verdict(0, 1, *errors))
    first, assistant, last = request["messages"]
    assert first["content"] == f"system\n{prompts.RETRY_SYSTEM}\n\nuser\nSolve it."
    assert assistant == {"role": "assistant", "content": said[0] if said else "."}
    assert [part for part in parts if part not in last["content"]] == []
    assert last["content"].endswith(prompts.AGAIN)
    assert ("Test input" in last["content"]) is (len(parts) > 1)


def test_a_retry_needs_a_text_to_begin_with() -> None:
    for messages in ([], [{"role": "user", "content": [{"type": "text", "text": "x"}]}], None):
        with pytest.raises(NotScorable, match="first message"):
            prompts.retry_request({**PROBLEM, "messages": messages}, ["x"], _verdict(0, 1, []))
