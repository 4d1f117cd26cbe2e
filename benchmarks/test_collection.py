"""Collecting 8,000 cases, and starting up, against pytest on its own. Contestants take turns, the best round of each
counts."""

from __future__ import annotations

import time

import pytest

from benchmarks.measure import alternate, cpu, endpoint, run, so_far, started, wait_until, wall
from benchmarks.projects import bare_project, gta_project, toy_project
from tests.plugin.project import ROOT, Project

CASES = 8000
ROUNDS = 3
MOST = 1.5  # × bare pytest
FIRST = 1.5  # seconds


@pytest.mark.parametrize(
    ("name", "make", "data"), [("toy", toy_project, "toy"), ("gta", gta_project, "gta_atomic")], ids=["toy", "gta"]
)
def test_collecting(tmp_path, benchmark, figure, name, make, data):
    """Also with a ``-k`` on the numbers in the ids, which bare pytest is given as well."""
    bare, ours = bare_project(tmp_path / "bare", CASES), make(tmp_path / "ours", CASES)
    look = ("--collect-only", "-qq")
    contestants = {
        "bare": lambda: run(bare, *look),
        "ours": lambda: run(ours, *look, "--data", data),
        "bare -k": lambda: run(bare, *look, "-k", "7 and 1"),
        "ours -k": lambda: run(ours, *look, "--data", data, "-k", "7 and 1"),
    }
    alternate(
        {name: contestants[name] for name in ("bare", "ours")}, 1
    )  # the first time builds the index and compiles modules
    costs = {}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    figure(f"collecting {CASES} cases, {name} / bare, wall", wall(costs["ours"]) / wall(costs["bare"]), most=MOST)
    figure(f"collecting {CASES} cases, {name} / bare, CPU", cpu(costs["ours"]) / cpu(costs["bare"]))
    figure(
        f"collecting {CASES} cases with -k, {name} / bare, wall",
        wall(costs["ours -k"]) / wall(costs["bare -k"]),
        most=MOST,
    )


def test_starting_up(tmp_path, benchmark, figure):
    """No case is selected, so this is imports, options and one small collection."""
    bare, ours = bare_project(tmp_path / "bare", 1), gta_project(tmp_path / "ours", 41)
    options = ("--model=baseline", "--data", "gta_atomic", "-k", "nothing")
    contestants = {
        "bare": lambda: run(bare, "-k", "nothing", expect=(5,)),
        "ours": lambda: run(ours, *options, expect=(5,)),
    }
    alternate(contestants, 1)
    costs = {}
    benchmark.pedantic(lambda: costs.update(alternate(contestants, ROUNDS)), rounds=1)
    figure("starting up, ours / bare, wall", wall(costs["ours"]) / wall(costs["bare"]))
    figure("starting up, ours - bare", wall(costs["ours"]) - wall(costs["bare"]), "s")


@pytest.mark.parametrize(
    "suite", ["bench_gta/test_step.py", "bench_wild", "bench_gta bench_wild bench_mmau"], ids=["step", "wild", "all"]
)
def test_first_request(tmp_path, benchmark, figure, suite):
    """From the start of the process to the arrival of the first request, on the bundled data. ``all`` starts the
    tool server too."""
    project = Project(tmp_path)
    seconds: list[float] = []

    def first() -> None:
        with endpoint(0.2) as (url, done):
            where = (
                "-c",
                str(ROOT / "pyproject.toml"),
                "--rootdir",
                str(ROOT),
                *(str(ROOT / part) for part in suite.split()),
            )
            began = time.monotonic()
            with started(project, *where, "--data", "mini", "--model", "m", "--model-url", url, "-n", "0") as process:
                wait_until(lambda: bool(so_far(url)["requests"]), project, process)
        seconds.append(done["first_arrival"] - began)

    benchmark.pedantic(first, rounds=ROUNDS, warmup_rounds=1)
    figure(f"start to first request, bundled data, {suite}, -n 0", min(seconds), "s", most=FIRST)
