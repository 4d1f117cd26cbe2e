"""Apple MMAU: what the sandbox costs a contest program, and what collecting a large file costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from bench_mmau import data
from bench_mmau.contests.execute import Workplace, run_group
from tests.mmau import records as made

PROGRAM = "total = 0\nfor i in range(3_000_000):\n    total += i\nprint(int(input()) + total)"
ROUNDS = 7
OVERHEAD = 1.5
MEGABYTES = 29
COLLECTED = 0.05  # seconds


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
        run = run_group(PROGRAM, ["1\n"], Workplace())
        ours.append(time.perf_counter() - began)
        assert run.outcomes is not None and run.outcomes[0].status == "passed"

    benchmark.pedantic(both, rounds=ROUNDS, warmup_rounds=1)
    figure("Apple MMAU: what the sandbox adds to a program", 1000 * (min(ours) - min(bare)), "ms")
    ratio = min(ours) / min(bare)
    figure("Apple MMAU: a program in the sandbox / the bare interpreter", ratio, most=OVERHEAD)
    assert ratio < OVERHEAD


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
