"""Apple MMAU's programs and notebooks against the plain way, which is a bare interpreter for each test of a program and
for each notebook, on all processors.

The records are of the official numbers and sizes, half of the programs are wrong, and the five of a problem differ.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest
from agentgauge.run.thread_pools import processors
from bench_mmau import oracle
from bench_mmau.contests import score
from bench_mmau.contests.execute import ExecutionLimits
from bench_mmau.contests.score import extract_code, read_groups
from bench_mmau.data import NOTEBOOK_DATA
from bench_mmau.notebooks import cells, execute
from bench_mmau.prompts import REPEATS
from benchmarks.half_wrong import altered
from benchmarks.memory import machine_cpu
from benchmarks.official import DATE, write_all

MOST = 1.3
PROBLEMS, TURNS = 4, 18
ROUNDS = 2
Record = Mapping[str, Any]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("official")
    return write_all(folder, 1.0, ("mmau",))["mmau"]


def records(root: Path, name: str, count: int) -> list[Record]:
    with (root / f"{name}_{DATE}.jsonl").open("rb") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def replies(record: Record, gold: Callable[[Record, ChatRequest], ChatReply], count: int) -> list[str]:
    """What the model that is half wrong answers."""
    requests = [ChatRequest((), case=CaseKey("mmau", record["id"], turn=turn)) for turn in range(count)]
    return [altered(gold(record, request), record["id"], request).text for request in requests]


def compared(benchmark: Any, figure: Callable[..., None], what: str, ways: Sequence[Sequence[Callable[[], object]]]):
    """Do the jobs of both ways in turn, each on all processors; note what they took for each job, and the ratios."""
    wall: list[list[float]] = [[], []]
    cpu: list[list[float]] = [[], []]

    def both() -> None:
        for way, jobs in enumerate(ways):
            before, began = machine_cpu(), time.perf_counter()
            with ThreadPoolExecutor(processors() + way) as threads:  # as many programs at a time; ours has slots
                list(threads.map(lambda job: job(), jobs))
            wall[way].append(time.perf_counter() - began)
            cpu[way].append(machine_cpu() - before)

    benchmark.pedantic(both, rounds=ROUNDS, warmup_rounds=1)
    for name, seconds in (("wall time", wall), ("processor time", cpu)):
        bare, ours = (min(taken[1:]) for taken in seconds)
        figure(f"{what}, {name}, the plain way", 1000 * bare / len(ways[0]), "ms")
        figure(f"{what}, {name}, ours", 1000 * ours / len(ways[0]), "ms")
        figure(f"{what}, {name}: ours / the plain way", ours / bare, most=MOST)


@pytest.mark.perf
def test_contests(benchmark, figure, root):
    problems = records(root, "code_contests_regular", PROBLEMS)
    drawn = [(problem, replies(problem, oracle.program, REPEATS)) for problem in problems]

    def plain(problem: Record, texts: Sequence[str]) -> None:
        for program in map(extract_code, texts):
            for given in (text for group in read_groups(problem) for text in group.inputs):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    command = [sys.executable, "-c", program]
                    subprocess.run(
                        command,
                        input=given,
                        capture_output=True,
                        text=True,
                        timeout=ExecutionLimits().test_seconds,
                        check=False,
                    )

    ways = [[partial(way, *one) for one in drawn] for way in (plain, judged)]
    compared(benchmark, figure, "Apple MMAU: five programs of a problem", ways)


def judged(problem: Record, texts: Sequence[str]) -> None:
    score.judge(problem, [[text] for text in texts])


def test_notebooks(tmp_path, benchmark, figure, root):
    turns = [record for record in records(root, "code_kaggle", TURNS) if record["notebook"]]
    written = [cells.build(turn, replies(turn, oracle.cells_then_answers, 1))[0] for turn in turns]
    (tmp_path / "input").symlink_to(root / NOTEBOOK_DATA)
    folder = tmp_path / "work"
    folder.mkdir()

    def plain(solution: cells.Solution) -> None:
        program = "\n".join("".join(cell["source"]) for cell in solution.cells if cell["cell_type"] == "code")
        subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, check=False)

    where = execute.ExecutionSettings(root / NOTEBOOK_DATA)
    ways = [
        [partial(plain, solution) for solution in written],
        [partial(execute.run, solution, where) for solution in written],
    ]
    compared(benchmark, figure, "Apple MMAU: a notebook", ways)


def test_a_notebooks_start(benchmark, figure):
    """From the call to its result, for one cell that does nothing, once processes stand ready; then with the usual
    imports, against an interpreter that imports them."""
    imports = "import numpy, pandas, matplotlib.pyplot\n"

    def ours(source: str) -> float:
        began = time.perf_counter()
        cell = {"cell_type": "code", "metadata": {}, "source": [source]}
        assert execute.run_cells([cell], execute.ExecutionSettings()).success
        return time.perf_counter() - began

    def bare() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", imports], check=True)
        return time.perf_counter() - began

    taken: list[tuple[float, ...]] = []
    benchmark.pedantic(lambda: taken.append((ours("pass\n"), ours(imports), bare())), rounds=15, warmup_rounds=6)
    start, importing, plain = (median(seconds) for seconds in zip(*taken[6:], strict=True))
    figure("Apple MMAU: the start of a notebook, median", 1000 * start, "ms", most=50)
    figure("Apple MMAU: a notebook that imports numpy, pandas and matplotlib, median", 1000 * importing, "ms")
    figure("Apple MMAU: the same / a bare interpreter", importing / plain, most=MOST)
