"""Progress, the number of workers, and what cases waited for."""

from __future__ import annotations

import json
import os
import re
import threading

import pytest

from agentgauge import read_run
from agentgauge.core.registry import Registry
from agentgauge.run import progress
from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.coordination.waiting_requests import FILE, FORM
from agentgauge.run.progress import Progress, Rate, RunLine, fitted
from agentgauge.run.thread_pools import processors
from tests.plugin.conftest import say, slow
from tests.plugin.project import OFTEN, PYTEST, ROOT, Project, interrupt, on_a_terminal, python, records, summary
from tests.plugin.toy import TOY

# -- The progress line counts records as they are written, however far pytest's own reports lag behind.


@pytest.fixture
def first_waits(endpoint):
    """The first case gets no answer until the event is set; the others are answered at once."""
    answered = threading.Event()

    def choose(request):
        act = say(request)

        def later(connection, seen, stopped):
            while not (answered.wait(0.02) or stopped.is_set()):
                pass
            return act(connection, seen, stopped)

        return later if request.body["messages"][-1]["content"].endswith("word0") else act

    endpoint.choose = choose
    return answered


@pytest.fixture
def project(project):
    project.add_to_conftest(OFTEN)
    return project


def read_until(process, words):
    """What the process has printed, up to a line with these words."""
    read, late = "", threading.Timer(30, process.kill)
    late.start()
    for line in process.stdout:
        read += line
        if words in line:
            late.cancel()
            return read
    raise AssertionError(f"{words!r} was not printed: {read}")


WORKERS = [(), ("-n", "2"), ("-n", "3", "--dist", "loadscope"), ("-v",), ("-q",), ("-s",), ("-v", "-n", "2")]


@pytest.mark.parametrize("options", WORKERS, ids=" ".join)
def test_cases_that_end_before_the_first_one_are_counted_and_kept(project, model, first_waits, options):
    process = project.start(*model, "--run-dir", "run", *options)
    read_until(process, "5/6 · 1 request running · ")
    interrupt(process)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    assert re.search(r"^5/6 · passed 4 · wrong 1 · broken 0 · 75 tokens$", output, re.M), output
    counted = re.search(r"^agentgauge: pytest counted (\d); (.*)$", output.partition(" in ")[2], re.M)
    if counted is None:  # under xdist reports of the other workers may all have come
        assert "-n" in options and "1 wrong, 4 passed" in output.replace("4 passed, 1 wrong", "1 wrong, 4 passed")
        return
    assert int(counted[1]) < 5
    assert counted[2] == (
        "5 cases have finished and are stored, because cases run ahead of pytest, which reports them in its own order"
    )
    assert ("no tests ran" in output) == (counted[1] == "0")


def test_a_resumed_run_counts_the_finished_cases_from_the_start(project, model, first_waits):
    process = project.start(*model, "--run-dir", "run")
    read_until(process, "5/6 · ")
    interrupt(process)
    process.communicate(timeout=60)
    process = project.start(*model, "--resume", "run")
    first = next(line for line in process.stdout if re.match(r"\d/6 · ", line))
    assert first.startswith("5/6 · ")
    first_waits.set()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "6/6 · passed 5 · wrong 1" in output and "pytest counted" not in output


def test_a_run_whose_reports_have_all_come_explains_nothing(project, model):
    output = project.run_process(*model, "--run-dir", "run").output
    assert "6/6 · passed 5 · wrong 1" in output and "pytest counted" not in output
    scored = project.run_process("--rescore", "run", "--run-dir", "again").output
    assert "6/6 · passed 5 · wrong 1" in scored and "pytest counted" not in scored


def at_the_fifth(event):
    """Sets the event once the progress line shows five cases that have ended."""
    return lambda written: event.set() if "\r5/6 · 1 request running" in written else None


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_terminal_is_redrawn_while_the_first_case_runs(project, model, first_waits, options):
    written = on_a_terminal(*model, *options, project=project, seen=at_the_fifth(first_waits))
    assert "\r6/6 · passed 5 · wrong 1 · broken 0 · 90 tokens" in written


@pytest.mark.parametrize(("width", "shown"), [(34, ""), (200, " · 75 tokens")])
def test_the_line_has_the_width_of_the_terminal_while_output_is_captured(project, model, first_waits, width, shown):
    written = on_a_terminal(*model, project=project, seen=at_the_fifth(first_waits), width=width)
    line = next(line for line in written.split("\r") if line.startswith("5/6 · 1 request running"))
    assert len(line.rstrip()) < width
    assert shown in line


def test_the_header_begins_on_a_line_of_its_own_on_a_terminal_beside_xdist(project, model):
    assert "\nagentgauge: model m" in on_a_terminal(*model, "-n", "2", project=project)


def test_without_a_terminal_plugin_nothing_is_shown(project, model):
    result = project.run_process(*model, "-p", "no:terminal")
    assert result.status == 0 and "/6" not in result.output


class Known:
    """A run in this state."""

    def __init__(self, **state):
        tasks = [{"name": "t", "planned": 10, "passed": 3, "wrong": 1, "broken": 0}]
        self._state = {"tasks": tasks, "tokens": 1234, "usd": 0.5, "left": 65.0} | state

    def read(self, started):
        pass

    def state(self):
        return self._state


def test_a_line_has_what_is_known(tmp_path, monkeypatch):
    line = RunLine(tmp_path, Known())
    assert line.text() == "4/10 · passed 3 · wrong 1 · broken 0 · 1.2k tokens · $0.50 · 1m05 left"
    assert line.text({"t": 10}, ended=True) == "4/10 · passed 3 · wrong 1 · broken 0 · 1.2k tokens · $0.50"
    assert RunLine(tmp_path, Known(tasks=[])).text() == "starts"
    StopFile(tmp_path).write("the budget of 1s is used up", awaits=True)
    assert line.text() == "4/10 · passed 3 · wrong 1 · broken 0 · 1.2k tokens · $0.50"
    monkeypatch.setattr(Rate, "per_second", lambda self, count, now: count / 10)
    Numbers(tmp_path / FILE, FORM, 0).write(1, 7, 40)
    Numbers(tmp_path / FILE, FORM, 1).write(0, 1, 2500)
    assert line.text().startswith("4/10 · 8 requests running · 254 tokens/s · 1 request waits for more than 2 min · ")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (99, "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1.2k tokens · 1m05 left"),
        (90, "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1m05 left"),
        (80, "1/9 · 8 requests running · passed 0 · wrong 1 · broken 0 · 1m05 left"),
        (60, "1/9 · 8 requests running · passed 0 · wrong 1 · broken 0"),
    ],
)
def test_a_narrow_terminal_does_without_tokens_first(width, shown):
    whole = "1/9 · 8 requests running · 3 tokens/s · passed 0 · wrong 1 · broken 0 · 1.2k tokens · 1m05 left"
    assert fitted(whole, width) == shown


def test_tests_of_the_project_are_not_counted(tmp_path):
    tests = {"name": "tests", "planned": 5, "passed": 5, "wrong": 0, "broken": 0}
    known = Known()
    known.state()["tasks"].append(tests)
    assert RunLine(tmp_path, known).text({"t": 10}).startswith("4/10 · passed 3 · wrong 1")


def test_the_rate_is_that_of_the_last_minute():
    rate = Rate(0.0)
    assert rate.per_second(100, 10.0) == 10.0
    assert rate.per_second(400, 40.0) == 10.0
    assert rate.per_second(400, 100.0) == 0.0
    assert rate.per_second(0, 110.0) == 0.0  # a worker that died took its count with it


def test_the_line_of_a_terminal_never_wraps_and_makes_room(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(progress, "LIVE_SECONDS", 0.01)
    screen, drawn = [], threading.Event()

    def write(text):
        screen.append(text)
        drawn.set()

    shown = Progress(write, live=True, planned={"t": 10}, folder=tmp_path, run=Known(), started=0.0)
    assert drawn.wait(10)
    shown.make_room()
    shown.finish()
    shown.finish()
    line = "4/10 · passed 3 · wrong 1"  # broken would not fit as a whole
    assert screen[0] == f"\r{line}" and f"\r{' ' * len(line)}\r" in screen and screen[-1] == f"\r{line}\n"


def test_nothing_is_written_below_the_last_line(tmp_path):
    screen = []
    shown = Progress(screen.append, live=False, planned={"t": 10}, folder=tmp_path, run=Known(), started=0.0)
    shown.write_line("waiting for 2 running requests")
    shown.finish()
    shown.write_line("waiting for 1 running request")
    assert screen == [
        "waiting for 2 running requests\n",
        "4/10 · passed 3 · wrong 1 · broken 0 · 1.2k tokens · $0.50\n",
    ]


UNREADABLE = """
import pathlib
from agentgauge.plugins.budget.watch import BudgetWatch
from agentgauge.run.progress import Progress

def fail(self):
    pathlib.Path("order").write_text(pathlib.Path("order").read_text() + "progress ")
    raise OSError(5, "Input/output error")

def stop(self, before=BudgetWatch.stop):
    pathlib.Path("order").write_text("budget ")
    before(self)

Progress.finish, BudgetWatch.stop = fail, stop
"""


@pytest.mark.uses("budget")
def test_records_that_cannot_be_read_at_the_end_are_reported(project, model):
    """The budget's watch, which writes to the screen, too, has ended by then."""
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + UNREADABLE)
    result = project.run_process(*model, "--run-dir", "run", "--budget=1h")
    assert result.status == 1 and "INTERNALERROR" not in result.output, result.output
    assert "Input/output error" in result.output
    assert (project.path / "order").read_text() == "budget progress "


# -- How many workers are started, at first and for those that died.


USABLE = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "found"),
    [
        ("max 100000\n", USABLE),
        ("100000 100000\n", 1),
        ("10000 100000\n", 1),
        ("100000000 100000\n", USABLE),
        ("", USABLE),
        (None, USABLE),
    ],
)
def test_a_quota_of_the_container_counts(tmp_path, quota, found):
    file = tmp_path / "cpu.max"
    if quota is not None:
        file.write_text(quota)
    assert processors(file) == found


OWN = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_own(number):
    pass
"""


@pytest.mark.parametrize(
    ("paths", "is_limited"),
    [
        ((), True),
        (("bench_gta", "bench_wild/test_wild.py"), True),
        (("bench_gta", "OWN"), False),
    ],
)
def test_benchmarks_get_no_more_workers_than_processors_and_the_header_says_so(tmp_path, paths, is_limited):
    (tmp_path / "test_own.py").write_text(OWN)
    asked = processors() + 1
    words = [str(tmp_path) if path == "OWN" else path for path in paths]
    kept = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    result = python(*PYTEST, *words, "-n", str(asked), "-k", "nothing", cwd=ROOT, env=kept)
    assert (f"instead of {asked}" in " ".join(result.output.split())) is is_limited, result.output


def test_a_projects_own_tests_get_all_workers(project):
    (project.path / "test_toy.py").write_text(OWN)
    asked = processors() + 1
    result = project.run_process("-n", str(asked), "-v")
    assert result.status == 0, result.output
    assert "instead of" not in result.output
    assert all(f"[gw{number}]" in result.output for number in range(asked))


def test_tx_starts_as_many_as_it_says(project, model):
    asked = processors() + 1
    result = project.run_process(*model, "--tx", f"{asked}*popen", "--dist", "load", "--run-dir", "run")
    assert result.status == 0, result.output
    assert "instead of" not in result.output
    assert len(workers_of(project)) == asked


DIES = """
import os
import subprocess
if "PYTEST_XDIST_WORKER" in os.environ:
    os._exit(1)
"""


@pytest.mark.parametrize(
    ("options", "most"), [((), 4), (("--max-worker-restart", "1"), 1)], ids=["preset", "as asked for"]
)
def test_workers_that_never_start_are_not_replaced_for_ever(project, model, options, most):
    with (project.path / "conftest.py").open("a") as conftest:
        conftest.write(DIES)
    result = project.run_process(*model, "--tx", "popen", "--dist", "load", *options, seconds=60)
    assert result.status == 5, result.output
    assert f"maximum crashed workers reached: {most}" in result.output
    assert result.output.count("replacing crashed worker") == most


def workers_of(project: Project) -> set[str]:
    return {record["worker"] for record in records(project.path / "run")}


# -- What a case waited for is stored apart: slots, the endpoint, scoring.


WAIT = 0.3


def test_waiting_for_a_slot_is_no_working_time(tmp_path, endpoint):
    """The first 8 requests are sent at once; the others wait for them here."""
    endpoint.choose = slow(WAIT)
    project = Project.make(tmp_path / "project", 16)
    result = project.run_process("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", "-v")
    assert result.status == 0, result.output
    for record in records(project.path / "run"):
        transcript = record["transcript"]
        [event], times = transcript["events"], transcript["times"]
        assert WAIT <= times["endpoint"] == pytest.approx(event["seconds"], abs=0.1)
        assert times["slots"] + times["endpoint"] <= transcript["seconds"] + 1e-4
        assert times["tools"] == 0 <= times["scoring"]
    waited = [record["transcript"]["times"]["slots"] for record in records(project.path / "run")]
    assert sum(one >= WAIT / 2 for one in waited) == 8 and sum(one < WAIT / 2 for one in waited) == 8
    usage = summary(project.path / "run")["usage"]
    times = {kind: one["seconds"] for kind, one in usage["times"].items()}
    assert times["working"] == pytest.approx(usage["seconds"] - times["slots"], abs=0.01)
    assert times["slots"] == pytest.approx(sum(waited), abs=0.01)
    assert f"working time summed over cases: {times['working']:.1f} s; {times['slots']:.1f} s" in " ".join(
        result.output.split()
    )
    working = sum(sample.working_seconds for sample in read_run(project.path / "run", Registry([TOY])).samples)
    assert working == pytest.approx(times["working"], abs=0.01)
    again = project.run_process("--rescore", "run", "--run-dir", "again")
    assert again.status == 0
    assert summary(project.path / "again")["usage"]["times"]["slots"]["seconds"] == times["slots"]


def test_records_of_earlier_versions_load_without_these_times(project, model):
    assert project.run_process(*model, "--run-dir", "run").status == 0
    file = project.path / "run" / "records.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["transcript"]["times"]
    file.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    assert project.run_process("--resume", "run", *model).status == 0
    usage = summary(project.path / "run")["usage"]
    assert "times" not in usage and usage["seconds"] > 0
    assert '"working": false' in (project.path / "run" / "report.html").read_text().replace('":', '": ')
