"""What reports of 8,000 cases with transcripts cost, beside reading their records once, and how quick a page of 100,000
cases is in a browser."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest
from agentgauge_reports.allure import DASHBOARD, write_results, write_run
from agentgauge_reports.load import load_run
from agentgauge_reports.page import write_page

from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Event
from tests.plugin.toy import Toy
from tests.reports.browsers import started_browser
from tests.reports.runs import record
from tests.reports.runs import write_run as made_run

CASES = 8000
LISTED = 100_000
TALK = "The quick brown fox jumps over the lazy dog, and then thinks about it for a while. "


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """About 14 KB a record, no two transcripts alike."""
    known_tasks()[Toy.name] = Toy()

    def events(case):
        talk = f"{case} {TALK * 12}"
        for number in range(4):
            yield Event(
                "model",
                "m",
                0,
                0.1,
                {"messages": [{"role": "user", "content": f"{number} {talk}"}], "reply": f"{talk} {number}"},
            )
            result = [{"type": "text", "content": talk}]
            yield Event("tool", f"Tool{number}", 0, 0.1, {"arguments": {"query": talk[:200]}, "result": result})

    folder = tmp_path_factory.mktemp("run") / "run"
    yield made_run(
        folder, (record(number, events=list(events(number)), passed=number % 3 == 0) for number in range(CASES))
    )
    del known_tasks()[Toy.name]


def timed(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def size_of(folder: Path) -> float:
    """MB; files with several names count once."""
    return sum({path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()}.values()) / 1e6


def test_the_page(run, benchmark, figure):
    read = timed(lambda: load_run(run))
    benchmark.pedantic(lambda: write_page(run, run / "report.html"), rounds=1)
    figure("page of 8,000 cases", benchmark.stats.stats.max, "s")
    figure("page of 8,000 cases / reading the records once", benchmark.stats.stats.max / read)
    figure("page of 8,000 cases: size", (run / "report.html").stat().st_size / 1e6, "MB")


SEARCH = """() => {
    const start = performance.now();
    const words = document.getElementById("words");
    words.value = "q77777q";
    words.dispatchEvent(new Event("input"));
    document.body.offsetHeight;
    return (performance.now() - start) / 1000;
}"""
"""Types words that one case has: makes the index, lists the case, and says how many seconds that took."""


def test_a_page_of_100_000_cases(tmp_path, monkeypatch, benchmark, figure):
    monkeypatch.setitem(known_tasks(), Toy.name, Toy())
    dice = random.Random(0)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(5000)]

    def events(case):
        question = f"{' '.join(dice.choices(words, k=15))} q{case}q"
        asked = {"messages": [{"role": "user", "content": question}], "reply": question}
        yield Event("model", "m", 0, 0.1, asked)
        yield Event("tool", f"Tool{case % 40}", 0, 0.1, {"arguments": {}, "result": []})

    made_run(tmp_path / "run", (record(n, events=list(events(n)), passed=n % 3 == 0) for n in range(LISTED)))
    file = write_page(tmp_path / "run", tmp_path / "run" / "report.html")
    figure("page of 100,000 cases: size", file.stat().st_size / 1e6, "MB")
    with started_browser() as browser:
        page = browser.new_page()

        def opened():
            page.goto(file.as_uri())
            page.locator("#found", has_text="100,000 of 100,000 cases").wait_for()

        benchmark.pedantic(opened, rounds=1)
        search = page.evaluate(SEARCH)
        assert page.locator("#found").inner_text() == "1 of 100,000 cases"
    figure("page of 100,000 cases: opens", benchmark.stats.stats.max, "s", most=3)
    figure("page of 100,000 cases: first search", search, "s", most=1)
    assert benchmark.stats.stats.max < 3 and search < 1


def test_allure(run, tmp_path, benchmark, figure):
    read = timed(lambda: load_run(run))
    benchmark.pedantic(
        lambda: (write_results if shutil.which("allure") else write_run)(run, tmp_path / "allure"), rounds=1
    )
    made = "results and dashboard" if (tmp_path / "allure" / DASHBOARD).exists() else "results"
    figure(f"Allure {made} of 8,000 cases", benchmark.stats.stats.max, "s")
    figure("Allure of 8,000 cases / reading the records once", benchmark.stats.stats.max / read)
    size = size_of(tmp_path / "allure")
    figure("Allure of 8,000 cases: size", size, "MB", most=150)
    assert size < 150
