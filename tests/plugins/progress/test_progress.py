"""The progress line of whole runs."""

from __future__ import annotations

import re
import threading

import pytest

from tests.plugin.conftest import say
from tests.plugin.project import OFTEN, interrupt, on_a_terminal

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
    """What the process has printed, up to a line with this pattern."""
    read, late = "", threading.Timer(30, process.kill)
    late.start()
    for line in process.stdout:
        read += line
        if re.search(words, line):
            late.cancel()
            return read
    raise AssertionError(f"{words!r} was not printed: {read}")


WORKERS = [(), ("-n", "2"), ("-n", "3", "--dist", "loadscope"), ("-v",), ("-q",), ("-s",), ("-v", "-n", "2")]


@pytest.mark.parametrize("options", WORKERS, ids=" ".join)
def test_cases_that_end_before_the_first_one_are_counted_and_kept(project, model, first_waits, options):
    process = project.start(*model, "--run-dir", "run", *options)
    read_until(
        process, r"^5/6 · passed 4 · wrong 1 · broken 0 · .*\b1/\d+ concurrent requests · .* so far: \S+ 80\.0 \(n 5\)"
    )
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
    read_until(process, "^5/6 · ")
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
    return lambda written: (
        event.set() if re.search(r"1/\d+ concurrent requests", written.rpartition("5/6 ·")[2]) else None
    )


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_terminal_is_redrawn_while_the_first_case_runs(project, model, first_waits, options):
    written = on_a_terminal(*model, *options, project=project, seen=at_the_fifth(first_waits))
    assert "6/6 · passed 5 · wrong 1 · broken 0 · 90 tokens\x1b[K\x1b[J" in written


@pytest.mark.parametrize(("width", "shown"), [(34, ""), (200, " · 75 tokens")])
def test_the_line_has_the_width_of_the_terminal_while_output_is_captured(project, model, first_waits, width, shown):
    written = on_a_terminal(*model, project=project, seen=at_the_fifth(first_waits), width=width)
    cases, requests = re.findall(r"(5/6 · [^\x1b]*)\x1b\[K\r\n([^\x1b]*)\x1b", written)[-1]
    assert max(map(len, (cases, requests))) < width
    assert requests.endswith(shown)


def test_the_header_begins_on_a_line_of_its_own_on_a_terminal_beside_xdist(project, model):
    assert "\nagentgauge: model m" in on_a_terminal(*model, "-n", "2", project=project)


def test_without_a_terminal_plugin_nothing_is_shown(project, model):
    result = project.run_process(*model, "-p", "no:terminal")
    assert result.status == 0 and "/6" not in result.output


UNREADABLE = """
import pathlib
from agentgauge.plugins.budget.watch import BudgetWatch
from agentgauge.plugins.progress.progress import Progress

def fail(self):
    pathlib.Path("order").write_text("progress ")
    raise OSError(5, "Input/output error")

def stop(self, before=BudgetWatch.stop):
    pathlib.Path("order").write_text(pathlib.Path("order").read_text() + "budget ")
    before(self)

Progress.finish, BudgetWatch.stop = fail, stop
"""


@pytest.mark.uses("budget")
def test_records_that_cannot_be_read_at_the_end_are_reported(project, model):
    """What else goes on beside the cases is ended, too."""
    conftest = project.path / "conftest.py"
    conftest.write_text(conftest.read_text() + UNREADABLE)
    result = project.run_process(*model, "--run-dir", "run", "--budget=1h")
    assert result.status == 1 and "INTERNALERROR" not in result.output, result.output
    assert "Input/output error" in result.output
    assert (project.path / "order").read_text() == "progress budget "
