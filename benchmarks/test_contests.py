"""Apple MMAU: what the sandbox costs a contest program, what five programs of a problem cost, and what collecting a
large file costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

import pytest

from agentgauge import sandbox
from bench_mmau import data
from bench_mmau.contests import score
from bench_mmau.contests.execute import ExecutionSettings, run_group
from benchmarks.memory import machine_cpu
from tests.mmau import records as made

PROGRAM = "total = 0\nfor i in range(3_000_000):\n    total += i\nprint(int(input()) + total)"
ROUNDS = 7
OVERHEAD = 1.5
MEGABYTES = 29
COLLECTED = 0.05  # seconds
PROBLEM = {
    "id": "square",
    "public_tests": {"input": ["1\n"], "output": ["1\n"]},
    "private_tests": {"input": ["2\n", "3\n", "4\n"], "output": ["4\n", "9\n", "16\n"]},
    "generated_tests": {"input": ["5\n", "6\n"], "output": ["25\n", "36\n"]},
}
INPUTS = [text for tests in PROBLEM.values() if isinstance(tests, dict) for text in tests["input"]]


def test_a_program_in_the_sandbox(benchmark, figure):
    """A program of some tenths of a second, like most that are judged, against ``python program.py`` with the same
    input."""
    bare: list[float] = []
    ours: list[float] = []

    def both() -> None:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", PROGRAM], input="1\n", capture_output=True, text=True, check=True)
        bare.append(time.perf_counter() - began)
        began = time.perf_counter()
        run = run_group(PROGRAM, ["1\n"], ExecutionSettings())
        ours.append(time.perf_counter() - began)
        assert run.outcomes is not None and run.outcomes[0].status == "passed"

    benchmark.pedantic(both, rounds=ROUNDS, warmup_rounds=1)
    figure("Apple MMAU: what the sandbox adds to a program", 1000 * (min(ours) - min(bare)), "ms")
    ratio = min(ours) / min(bare)
    figure("Apple MMAU: a program in the sandbox / the bare interpreter", ratio, most=OVERHEAD)
    assert ratio < OVERHEAD


def test_a_start(benchmark, figure):
    """From the call to its result, for a program that ends at once, in a process that stands ready."""
    script = sandbox.Script("import os\n\ndef main():\n    os._exit(0)\n")
    bare: list[float] = []
    ours: list[float] = []

    def both() -> None:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        bare.append(time.perf_counter() - began)
        with sandbox.scratch_folder() as folder:
            began = time.perf_counter()
            assert sandbox.run(script, folder=folder, keep=False).status == "ok"
            ours.append(time.perf_counter() - began)

    benchmark.pedantic(both, rounds=41, warmup_rounds=2)
    figure("the start of a program in the sandbox, median", 1000 * median(ours), "ms", most=10)
    figure("the start of a program in the sandbox / of a bare interpreter", median(ours) / median(bare), most=1.3)


@pytest.mark.parametrize(
    ("kind", "programs", "solved", "most"),
    [
        ("five equal programs that do not compile", ["print(int(input()) ** 2"] * 5, False, 0.05),
        ("five equal right programs", ["print(int(input()) ** 2)"] * 5, True, 0.1),
        ("five different right programs", [f"print(int(input()) ** 2)  # {n}" for n in range(5)], True, 0.5),
        ("five different programs that fail at once", [f"raise ValueError({n})" for n in range(5)], False, 0.5),
    ],
)
def test_five_programs_of_a_problem(benchmark, figure, kind: str, programs: Sequence[str], solved: bool, most: float):
    """Against the plain way, which is a bare interpreter for each program and test."""
    bare: list[float] = []
    ours: list[float] = []

    def both() -> None:
        began = machine_cpu()
        for program in programs:
            for text in INPUTS:
                subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False)
        middle = machine_cpu()
        assert score.judge(PROBLEM, [[program] for program in programs]).passed is solved
        bare.append(middle - began)
        ours.append(machine_cpu() - middle)

    benchmark.pedantic(both, rounds=3, warmup_rounds=1)
    figure(f"Apple MMAU: {kind}, processor time", 1000 * min(ours), "ms")
    figure(f"Apple MMAU: {kind} / a bare interpreter for each test", min(ours) / min(bare), most=most)


def test_collecting_large_contest_files(tmp_path, benchmark, figure, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tests = {"input": ["x" * 50_000] * 2, "output": ["y"] * 2}
    problems = [json.dumps(made.contest(number, generated_tests=tests)) for number in range(261)]
    (tmp_path / "code_contests_regular_20240712.jsonl").write_text("\n".join(problems) + "\n")
    assert (tmp_path / "code_contests_regular_20240712.jsonl").stat().st_size > 0.8 * MEGABYTES * 1e6
    assert len(data.index(tmp_path, data.CONTESTS, ()).rows) == 261  # builds the index
    benchmark.pedantic(lambda: data.index(tmp_path, data.CONTESTS, ()), rounds=5)
    figure(
        f"Apple MMAU: collecting 261 problems of a {MEGABYTES} MB file",
        1000 * benchmark.stats.stats.min,
        "ms",
        most=1000 * COLLECTED,
    )
    assert benchmark.stats.stats.min < COLLECTED
