"""Collecting 8,000 cases, and starting up, against pytest on its own.

The rounds of ours and of the yardstick take turns, and the best of each is compared: what else the machine does can only
make a round slower.
"""

from __future__ import annotations

import pytest

from benchmarks.measure import Cost, bare_project, gta_project, run, toy_project

CASES = 8000
ROUNDS = 5


@pytest.mark.parametrize(("name", "make", "data"), [("toy", toy_project, "toy"), ("gta", gta_project, "gta_atomic")], ids=["toy", "gta"])
def test_collecting_takes_less_than_twice_the_time_of_bare_pytest(tmp_path, benchmark, figure, name, make, data):
    bare, ours = bare_project(tmp_path / "bare", CASES), make(tmp_path / "ours", CASES)
    yardstick: list[Cost] = []
    costs: list[Cost] = []

    def collect() -> None:
        costs.append(run(ours, "--collect-only", "-qq", "--data", data))

    def collect_bare() -> None:
        yardstick.append(run(bare, "--collect-only", "-qq"))

    collect()  # the first time builds the index and compiles modules
    collect_bare()
    costs.clear()
    yardstick.clear()
    benchmark.pedantic(collect, setup=collect_bare, rounds=ROUNDS)
    wall = best(costs).wall / best(yardstick).wall
    figure(f"collecting {CASES} cases, {name} / bare, wall", wall)
    figure(f"collecting {CASES} cases, {name} / bare, CPU", min(cost.cpu for cost in costs) / min(cost.cpu for cost in yardstick))
    assert wall <= 2


def test_starting_up(tmp_path, benchmark, figure):
    """No case is selected, so this is imports, options and one small collection."""
    bare, ours = bare_project(tmp_path / "bare", 1), gta_project(tmp_path / "ours", 41)
    yardstick: list[Cost] = []
    costs: list[Cost] = []
    benchmark.pedantic(
        lambda: costs.append(run(ours, "--model=baseline", "--data", "gta_atomic", "-k", "nothing", expect=(5,))),
        setup=lambda: yardstick.append(run(bare, "-k", "nothing", expect=(5,))),
        rounds=ROUNDS,
        warmup_rounds=1,
    )
    figure("starting up, ours / bare, wall", best(costs).wall / best(yardstick).wall)
    figure("starting up, ours - bare, seconds", best(costs).wall - best(yardstick).wall)


def best(costs: list[Cost]) -> Cost:
    return min(costs, key=lambda cost: cost.wall)
