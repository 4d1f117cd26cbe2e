"""What a run loses while ``agentgauge view`` shows it to two browsers."""

from __future__ import annotations

import threading

from benchmarks.measure import alternate, endpoint, run, toy, wall
from benchmarks.projects import toy_project
from tests.reports.view.viewer import Served, served

CASES = 4096
LATENCY = 0.2  # seconds, the median
ROUNDS = 5
MOST = 1.02
"""Of the wall time of the same run without a viewer."""


def test_a_viewed_run(tmp_path, benchmark, figure):
    project = toy_project(tmp_path / "project", CASES)
    runs = project.path / "runs"
    runs.mkdir()

    def measure() -> dict[str, float]:
        with endpoint(LATENCY) as (url, _), served(runs, tmp_path) as viewer:
            number = iter(range(100))

            def alone():
                return run(project, *toy(url, "--in-flight", "128", "--run-dir", f"runs/{next(number)}"))

            def viewed():
                name = next(number)
                stop, looks = threading.Event(), [0, 0]
                browsers = [
                    threading.Thread(target=look, args=(viewer, f"{name}", looks, place, stop)) for place in (0, 1)
                ]
                for browser in browsers:
                    browser.start()
                try:
                    return run(project, *toy(url, "--in-flight", "128", "--run-dir", f"runs/{name}"))
                finally:
                    stop.set()
                    for browser in browsers:
                        browser.join()
                    assert min(looks) >= 3, looks

            costs = alternate({"alone": alone, "viewed": viewed}, ROUNDS)
            return {name: wall(cost) for name, cost in costs.items()}

    walls = benchmark.pedantic(measure, rounds=1)
    figure(f"{CASES:,} samples, not viewed", CASES / walls["alone"], "records/s")
    figure(f"{CASES:,} samples, two browsers look", CASES / walls["viewed"], "records/s")
    figure("wall time with two browsers / without", walls["viewed"] / walls["alone"], most=MOST)


def look(viewer: Served, name: str, looks: list[int], place: int, stop: threading.Event) -> None:
    """Follow the run as a browser does, which asks again until the run is there."""
    while not stop.is_set():
        for _ in viewer.events(f"/events?run={name}"):
            looks[place] += 1
            if stop.is_set():
                return
        stop.wait(0.2)
