"""What the end of a run would do, done while its cases run: it comes to the same."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Record
from agentgauge.pytest_plugin.early import AT_ONCE, LINES, EarlyPage, EarlyRecords, RecordPlace
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId
from reports.page import write_page
from tests.plugin.conftest import say, slow
from tests.plugin.test_run import WORKERS
from tests.plugin.toy import Toy
from tests.reports.page_runs import chunks, record, write_run

ABOUT = {"settings": {"data": "mini", "options": {}, "tools": {}, "attempts": 1, "scoring": "parity"}}


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(known_tasks(), Toy.name, Toy())


@pytest.fixture
def parts(tmp_path):
    """Ten cases of a run that goes on, and where the records of these are."""
    appender = RunFolder(tmp_path / "going").appender("main")
    lines = [appender.append(record(number)) for number in range(10)]
    appender.close()
    plan = [(Toy.name, f"s{number}", 1) for number in range(10)]
    return plan, [RecordPlace(str(line.file), line.start, line.size) for line in lines]


def end(early: EarlyPage, case: CaseId, place: RecordPlace) -> None:
    early.add(case, place)
    early.catch_up()


def told(early: EarlyPage) -> int:
    begun = early.begun()
    return 0 if begun is None else len(begun)


def test_cases_are_told_in_the_order_of_the_plan_whenever_they_end(tmp_path, parts):
    plan, places = parts
    early = EarlyPage(tmp_path / "run", ABOUT, plan)
    seen = []
    for number in (1, 0, 2, 4, 5, 6, 7, 8, 9, 3):
        end(early, plan[number], places[number])
        seen.append(told(early))
    assert seen == [0, 2, 3, 3, 3, 3, 3, 3, 3, 3 + AT_ONCE]  # the first step was to begin


def finished(path: Path, kept: list[Record], missing: list[int]) -> Path:
    return write_run(path, kept, missing=[(Toy.name, f"s{number}") for number in missing])


@pytest.mark.parametrize(
    "ended", [[0, 1, 2], [2, 0], [1, 2], []], ids=["all", "with a gap", "without the first", "none"]
)
def test_the_page_is_the_one_that_is_written_afterwards(tmp_path, parts, ended):
    plan, places = parts
    run = finished(tmp_path / "run", [record(number) for number in range(3)], [3])
    afterwards = write_page(run, run / "report.html").read_bytes(), chunks(run / "report.html")
    early = EarlyPage(run, ABOUT, plan[:4])
    for number in ended:
        end(early, plan[number], places[number])
    write_page(run, run / "report.html", begun=early.begun())
    assert ((run / "report.html").read_bytes(), chunks(run / "report.html")) == afterwards


def test_a_record_that_another_took_the_place_of_is_told_anew(tmp_path, parts):
    plan, places = parts
    early = EarlyPage(tmp_path / "run", ABOUT, plan[:2])
    end(early, plan[0], places[0])
    later = Record(*plan[0], config="c", status="broken", error="the second try", finished=99.0)
    run = finished(tmp_path / "run", [later, record(1)], [])
    write_page(run, run / "report.html", begun=early.begun())
    ((first, second),) = chunks(run / "report.html")
    assert first["said"]["error"] == "the second try"
    assert second["said"]["error"] is None


def test_an_interrupt_in_the_midst_of_a_case_goes_on_and_leaves_the_page_to_the_end(tmp_path, parts, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    plan, places = parts
    early = EarlyPage(tmp_path / "run", ABOUT, plan)
    end(early, plan[0], places[0])
    monkeypatch.setattr("reports.page.figures.Seen.add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        end(early, plan[1], places[1])
    monkeypatch.undo()
    end(early, plan[2], places[2])
    assert early.begun() is None


def test_what_fails_on_the_way_is_left_to_the_end(tmp_path, parts, monkeypatch):
    plan, places = parts
    early = EarlyPage(tmp_path / "run", ABOUT, plan)
    end(early, plan[0], places[0])
    monkeypatch.setattr("reports.page.chunks.Transcripts._add", lambda *_: 1 / 0)
    end(early, plan[1], places[1])
    monkeypatch.undo()
    end(early, plan[2], places[2])
    assert early.begun() is None


def test_records_are_read_as_soon_as_there_are_a_few(tmp_path, parts, monkeypatch):
    plan, places = parts
    folder, taken = RunFolder(tmp_path / "going"), []
    early = EarlyRecords(folder)
    monkeypatch.setattr(early.gathered(), "take", lambda file, count: taken.append((file.name, count)))
    seen = []
    for case, place in zip(plan, places, strict=True):
        early.add(case, place)
        early.catch_up()
        seen.append(len(taken))
    assert seen == [number // LINES for number in range(1, 11)]
    assert set(taken) == {("main.jsonl", LINES)}
    assert early.step() is None


def test_a_damaged_record_is_left_out_and_told_at_the_end(tmp_path, parts):
    plan, places = parts
    folder = RunFolder(tmp_path / "going")
    file = Path(places[0].file)
    file.write_bytes(file.read_bytes().replace(b'"sample":"s1"', b'"simple":"s1"'))
    early = EarlyRecords(folder)
    for case, place in zip(plan, places, strict=True):
        early.add(case, place)
        early.catch_up()
    gathered = early.gathered()
    assert len(folder.merge_records({}, gathered)) == len(plan) - 1
    assert [line.number for line in gathered.left_out] == [2]


@WORKERS
def test_a_runs_page_is_the_one_that_can_be_made_of_its_folder(project, model, monkeypatch, workers):
    monkeypatch.chdir(project.path)  # where the data is
    project.run(*model, *workers, "--run-dir", "run")
    page = project.path / "run" / "report.html"
    beside = page.with_name("report-data")
    first = page.read_bytes(), {file.name: file.read_bytes() for file in beside.iterdir()}
    assert list(first[1]) == ["0.js"]
    page.unlink()
    shutil.rmtree(beside)
    write_page(page.parent, page)
    assert (page.read_bytes(), {file.name: file.read_bytes() for file in beside.iterdir()}) == first


@WORKERS
def test_transcripts_are_there_before_the_last_case_has_ended(project, endpoint, workers):
    conftest = project.path / "conftest.py"
    conftest.write_text(
        conftest.read_text() + "import reports.page.chunks\nreports.page.chunks.CHUNK = 1\n"
    )  # each case has a file
    fifth, seen = project.path / "run" / "report-data" / "4.js", []

    def choose(request):
        if request.body["messages"][-1]["content"].endswith("word5"):
            until(fifth.exists, seen)
        return say(request)

    endpoint.choose = choose
    result = project.run("--model", "m", "--model-url", endpoint.url, *workers, "--run-dir", "run")
    assert result.status == 0, result.output
    assert seen == [True]
    assert (fifth.parent / "5.js").exists()


SPY = """
import pathlib
import agentgauge.pytest_plugin.controller as controller
from agentgauge.store import RunFolder
merge = RunFolder.merge_records
def told(folder, order, gathered):
    pathlib.Path("read").write_text(str(sum(lines for _, lines in gathered._read.values())))
    return merge(folder, order, gathered)
RunFolder.merge_records = told
controller.BACKLOG = {backlog}
"""


def read_early(project, *arguments: str, backlog: int = 64) -> int:
    """How many of a run's 60 records its end finds read."""
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + SPY.format(backlog=backlog))
    result = project.run(*arguments, "--attempts", "10", "--run-dir", "run")
    assert result.status == 0, result.output
    return int((project.path / "read").read_text())


@WORKERS
def test_the_end_finds_records_read(project, endpoint, workers):
    endpoint.choose = slow(0.02)
    read = read_early(project, "--model", "m", "--model-url", endpoint.url, "--in-flight", "4", *workers)
    assert 0 < read <= 60


@pytest.mark.parametrize("backlog", [-1, 10_000], ids=["behind", "not behind"])
def test_nothing_of_the_end_is_done_while_workers_report_faster_than_that_is_taken(project, model, backlog):
    """What they report is in memory until then."""
    read = read_early(project, *model, "-n", "2", backlog=backlog)
    assert (read == 0) == (backlog < 0)
    assert (project.path / "run" / "report-data" / "0.js").exists()


def until(there: Callable[[], bool], seen: list[bool]) -> None:
    end = time.monotonic() + 20
    while not there() and time.monotonic() < end:
        time.sleep(0.01)
    seen.append(there())
