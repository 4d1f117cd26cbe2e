"""Where contests stop growing faster with more processors: service times measured here, more processors simulated."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from agentgauge.run.thread_pools import PAUSE, CpuSlots, processors
from bench_mmau.contests import score
from bench_mmau.contests.candidate import GROUPS
from benchmarks.many_cores import Service
from benchmarks.measure import cpu, endpoint, run, toy
from benchmarks.memory import machine_cpu
from benchmarks.projects import toy_project

COUNTS = (2, 4, 8, 16, 32, 64)
CASES, CANDIDATES = 40, 5
LEAST = 0.8
"""Of the programs a second and processor with two processors."""


def problem(number: int) -> dict[str, object]:
    tests = {"input": [f"{n}\n" for n in range(10)], "output": [f"{n * n}\n" for n in range(10)]}
    return {"id": f"p{number}", **dict.fromkeys(GROUPS, tests)}


def judge(number: int) -> None:
    texts = [[f"print(int(input()) ** 2)  # {number}, {n}"] for n in range(CANDIDATES)]
    assert score.judge(problem(number), texts).passed


def a_turn(folder: Path, size: int) -> float:
    """Seconds in which one finds the last free slot."""
    slots, taken = CpuSlots(folder / str(size), size), []
    with ExitStack() as others:
        for _ in range(size - 1):
            others.enter_context(slots.slot())
        for _ in range(50):
            began = time.perf_counter()
            with slots.slot():
                taken.append(time.perf_counter() - began)
    return min(taken)


def a_case(tmp_path: Path) -> float:
    """Seconds of processor time that all but the programs takes for a case."""
    few, many = toy_project(tmp_path / "few", 1), toy_project(tmp_path / "many", 501)
    with endpoint(0.0) as (url, _):
        costs = [cpu([run(project, *toy(url, "-n", "0")) for _ in range(3)]) for project in (few, many)]
    return (costs[1] - costs[0]) / 500


def test_contests_on_many_processors(tmp_path, benchmark, figure, curve):
    groups = CASES * CANDIDATES * len(GROUPS)
    found: list[tuple[float, float, float]] = []

    def judge_all() -> None:
        used, own, began = machine_cpu(), time.process_time(), time.perf_counter()
        with ThreadPoolExecutor(processors() + 1) as threads:
            list(threads.map(judge, range(CASES)))
        own, wall = time.process_time() - own, time.perf_counter() - began
        found.append((wall, own / groups, (machine_cpu() - used - own) / groups))

    benchmark.pedantic(judge_all, rounds=3, warmup_rounds=1)
    wall, worker, program = min(found)
    turns = {count: a_turn(tmp_path, count) for count in COUNTS}
    case = a_case(tmp_path)
    services = {count: Service(program, worker, turns[count], PAUSE, case, groups // CASES) for count in COUNTS}
    for name, seconds in (
        ("in the sandbox", program),
        ("of the worker beside it", worker),
        ("of the queue", turns[64]),
    ):
        figure(f"contests: processor time of a group of tests {name}", 1000 * seconds, "ms")
    figure("contests: processor time of a case beside its programs", 1000 * case, "ms")
    here = Service(program, worker, a_turn(tmp_path, processors()), PAUSE, 0.0, groups // CASES)
    figure(
        f"contests: measured / simulated, {processors()} processors, one worker",
        wall / here.of(processors(), 1, CASES),
        most=1.25,
        least=0.8,
    )
    for name, workers in (("-n 0", lambda _: 1), ("one worker for each processor", lambda count: count)):
        speeds = [(count, 400 / services[count].of(count, workers(count))) for count in COUNTS]
        curve("many-cores", name, speeds)
        per = [speed / count for count, speed in speeds]
        scales = max(count for count, one in zip(COUNTS, per, strict=True) if one >= LEAST * per[0])
        figure(f"contests, {name}: processors up to which each adds {LEAST:.0%} of one", scales, "processors")
        figure(f"contests, {name}: problems a second with 64 / with 2 processors", speeds[-1][1] / speeds[0][1])
