"""A run of 100,000 cases: what a sample costs, the memory, and how quick its page is in a browser.

The cases ask no model, so that only AgentGauge is left.
"""

from __future__ import annotations

import random

import pytest

from agentgauge.core.registry import Registry
from agentgauge.core.types import Event
from benchmarks.measure import cpu, run
from benchmarks.projects import toy_project
from tests.plugin.toy import TOY
from tests.reports.runs import record
from tests.reports.runs import write_run as made_run

MANY, FEW = 100_000, 1_000
FLAT = 1.25
"""How much more a sample may cost among the most than among the fewest. Start-up is taken off."""

PROCESS, CONTROLLER = 150 + 0.004 * MANY, 150 + 0.001 * MANY
"""MB that a run of the most may take beside its data, which is small here: a process that collects, and one that only
distributes. Of pytest's own an item takes 2.9 KB."""


def alone(workers: str) -> tuple[str, ...]:
    """Options of a run whose cases ask no model; the address is never used."""
    model = ("--model", "m", "--model-url", "http://127.0.0.1:9/v1")
    return ("-q", "--data", "toy", *model, "-n", workers, "--in-flight", "128")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return toy_project(tmp_path_factory.mktemp("project") / "many", MANY, "SILENT")


def test_one_process(project, tmp_path, benchmark, figure):
    costs = {}

    def measure() -> None:
        for samples in (1, FEW):
            small = toy_project(tmp_path / str(samples), samples, "SILENT")
            costs[samples] = [run(small, *alone("0")) for _ in range(3)]
        costs[MANY] = [run(project, *alone("0"))]

    benchmark.pedantic(measure, rounds=1)
    few, many = (1000 * (cpu(costs[samples]) - cpu(costs[1])) / samples for samples in (FEW, MANY))
    figure(f"{MANY:,} samples: CPU a sample", many, "ms")
    figure(f"CPU a sample among {MANY:,} / among {FEW:,}", many / few, most=FLAT)
    figure(f"{MANY:,} samples, -n 0: memory", costs[MANY][0].own, "MB", most=PROCESS)
    assert costs[MANY][0].own <= PROCESS


def test_two_workers(project, benchmark, figure):
    """From the first to the last moment, collection, summary and page included."""
    cost = benchmark.pedantic(lambda: run(project, *alone("2")), rounds=1)
    figure(f"{MANY:,} samples, -n 2: memory of the controller", cost.own, "MB", most=CONTROLLER)
    figure(f"{MANY:,} samples, -n 2: memory of the largest worker", cost.child, "MB", most=PROCESS)
    assert cost.own <= CONTROLLER
    assert cost.child <= PROCESS


SEARCH = """() => {
    const start = performance.now();
    const words = document.getElementById("words");
    words.value = "q77777q";
    words.dispatchEvent(new Event("input"));
    document.body.offsetHeight;
    return (performance.now() - start) / 1000;
}"""
"""Types words that one case has: makes the index, lists the case, and says how many seconds that took."""


def test_the_page(tmp_path, benchmark, figure):
    pytest.importorskip("playwright", reason="the page needs a browser")
    page_of_run = pytest.importorskip("agentgauge_reports.page.page", reason="the plugin page is deleted")
    from tests.reports.browsers import started_browser

    dice = random.Random(0)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(5000)]

    def events(case):
        question = f"{' '.join(dice.choices(words, k=15))} q{case}q"
        asked = {"messages": [{"role": "user", "content": question}], "reply": question}
        yield Event("model", "m", 0, 0.1, asked)
        yield Event("tool", f"Tool{case % 40}", 0, 0.1, {"arguments": {}, "result": []})

    made_run(tmp_path / "run", (record(n, events=list(events(n)), passed=n % 3 == 0) for n in range(MANY)))
    file = page_of_run.write_page(tmp_path / "run", tmp_path / "run" / "report.html", tasks=Registry([TOY]))
    figure(f"page of {MANY:,} cases: size", file.stat().st_size / 1e6, "MB")
    with started_browser() as browser:
        page = browser.new_page()

        def opened():
            page.goto(file.as_uri())
            page.locator("#found", has_text="100,000 of 100,000 cases").wait_for()

        benchmark.pedantic(opened, rounds=1)
        search = page.evaluate(SEARCH)
        assert page.locator("#found").inner_text() == "1 of 100,000 cases"
    figure(f"page of {MANY:,} cases: opens", benchmark.stats.stats.max, "s", most=3)
    figure(f"page of {MANY:,} cases: first search", search, "s", most=1)
