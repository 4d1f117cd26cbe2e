"""Programs that a model wrote: what the sandbox costs beside the plain way, a bare interpreter for each program and
test or for each notebook."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from agentgauge import sandbox
from agentgauge.run.thread_pools import processors
from bench_mmau.contests import score
from bench_mmau.notebooks import execute
from benchmarks.measure import machine_cpu

TESTS, DIFFERENT = 100, 5
ROUNDS = 3
CELLS = [
    "import numpy as np, pandas as pd, matplotlib.pyplot as plt",
    "table = pd.DataFrame({'x': np.arange(1000), 'y': np.arange(1000) ** 2})\nprint(table.describe())",
    "figure, axes = plt.subplots()\naxes.plot(table.x, table.y)\nplt.show()",
]


def test_the_start_of_a_program(benchmark, figure):
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
    """Three groups of tests: one, three and two."""
    numbers = {"public_tests": [1], "private_tests": [2, 3, 4], "generated_tests": [5, 6]}
    problem = {"id": "square", **{name: squares(some) for name, some in numbers.items()}}
    bare: list[float] = []
    ours: list[float] = []

    def both() -> None:
        began = machine_cpu()
        for program in programs:
            for number in (number for some in numbers.values() for number in some):
                plainly(program, f"{number}\n")
        middle = machine_cpu()
        assert score.judge(problem, [[program] for program in programs]).passed is solved
        bare.append(middle - began)
        ours.append(machine_cpu() - middle)

    benchmark.pedantic(both, rounds=ROUNDS, warmup_rounds=1)
    figure(f"{kind} / a bare interpreter for each test, processor time", min(ours) / min(bare), most=most)


def squares(numbers: Sequence[int]) -> dict[str, list[str]]:
    return {"input": [f"{number}\n" for number in numbers], "output": [f"{number**2}\n" for number in numbers]}


def plainly(program: str, given: str = "", folder: Path | None = None) -> None:
    subprocess.run(
        [sys.executable, "-c", program], input=given, cwd=folder, capture_output=True, text=True, check=False
    )


def test_problems_of_official_size(benchmark, figure):
    """100 tests, five different programs, half of them wrong; problems side by side on all processors."""
    numbers = range(TESTS)
    problem = {"id": "square", "public_tests": squares([0]), "private_tests": squares(numbers)}
    programs = [f"print(int(input()) ** 2{' + 1' * (n % 2)})  # {n}" for n in range(DIFFERENT)]

    def plain() -> None:
        for program in programs:
            for number in (0, *numbers):
                plainly(program, f"{number}\n")

    def ours() -> None:
        score.judge(problem, [[program] for program in programs])

    compared(benchmark, figure, "a problem with 100 tests", plain, ours, jobs=2)


def test_notebooks(tmp_path, benchmark, figure):
    """A notebook that draws, with the usual imports."""
    cells = [{"cell_type": "code", "metadata": {}, "source": [source]} for source in CELLS]
    settings = execute.ExecutionSettings()

    def ours() -> None:
        assert execute.run_cells(cells, settings).success

    compared(benchmark, figure, "a notebook", lambda: plainly("\n".join(CELLS), folder=tmp_path), ours, jobs=8)


def compared(
    benchmark: Any,
    figure: Callable[..., None],
    what: str,
    plain: Callable[[], None],
    ours: Callable[[], None],
    *,
    jobs: int,
) -> None:
    """Do so many jobs both ways in turn, each on all processors."""
    walls: list[list[float]] = [[], []]
    cpus: list[list[float]] = [[], []]

    def both() -> None:
        for way, job in enumerate((plain, ours)):
            before, began = machine_cpu(), time.perf_counter()
            with ThreadPoolExecutor(processors() + way) as threads:  # as many programs at a time; ours has slots
                list(threads.map(lambda each: each(), islice(cycle([job]), jobs)))
            walls[way].append(time.perf_counter() - began)
            cpus[way].append(machine_cpu() - before)

    benchmark.pedantic(both, rounds=ROUNDS)
    for name, seconds in (("wall time", walls), ("processor time", cpus)):
        bare, own = (min(taken[1:]) for taken in seconds)  # the first round prepares processes
        figure(f"{what}, {name}, ours", 1000 * own / jobs, "ms")
        figure(f"{what}, {name}: ours / the plain way", own / bare, most=1.3)
