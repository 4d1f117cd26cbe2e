"""Counts the reports of benchmark cases, shows progress, and writes the terminal's summary."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TextIO, cast

import pytest

from agentgauge.core.processes import Output, lost_output
from agentgauge.core.redaction import Printed, redact
from agentgauge.core.text import clean
from agentgauge.pytest_plugin.keys import KEPT, LOST_OUTPUT, OF_THE_TEST
from agentgauge.pytest_plugin.options import worker_count_notice
from agentgauge.pytest_plugin.run_state import RunState, words
from agentgauge.run.coordination.stopping import LONGEST_WAIT, StopFile, running_work
from agentgauge.run.progress import STATUSES
from agentgauge.run.run_folder import header
from agentgauge.run.screen import Screen, Write

# -- pytest's terminal: nothing secret is written there, and the run goes on when it cannot be written.


_ERRORS = pytest.StashKey[int]()
"""A descriptor of standard error that pytest does not capture."""


def prepare_terminal(config: pytest.Config) -> None:
    """Remove secrets from the terminal's output: with ``--showlocals`` an error shows the variables of every
    function. When it cannot be written, that is said on standard error."""
    with suppress(OSError, AttributeError, ValueError):  # it is no file
        config.stash[_ERRORS] = os.dup(sys.stderr.fileno())
        config.add_cleanup(partial(os.close, config.stash[_ERRORS]))
    config.add_cleanup(partial(setattr, sys, "stdout", sys.stdout))
    sys.stdout = cast("TextIO", Printed(output(config, sys.stdout), redact))  # pytest makes its reporter next, of this


def output(config: pytest.Config, stream: Any) -> Output:
    """A stream to the terminal, which may be lost."""
    return Output(stream, partial(_lost, config))


def _lost(config: pytest.Config, error: OSError) -> None:
    if LOST_OUTPUT in config.stash:
        return
    config.stash[LOST_OUTPUT] = lost_output(error)
    controller: Any = config.pluginmanager.get_plugin("agentgauge-controller")
    where = f", and its results are in {controller.folder.path}" if controller else ""
    text = f"agentgauge: {lost_output(error)}; the run goes on{where}\n"
    with suppress(OSError, KeyError):
        os.write(config.stash[_ERRORS], redact(text).encode())


NAMED = 5
"""Tests that the line about a dead worker names."""


class Reporting:
    """Shows progress and results on the terminal. Registered in pytest's first process."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.config = state.config
        self._late_header_is_due = False
        self._screen: Screen | None = None  # while benchmark cases run
        self._counted = 0  # benchmark cases whose outcome pytest has shown

    def pytest_report_header(self) -> str | None:
        notice = worker_count_notice(self.config)
        return notice and f"agentgauge: {notice}"

    def begin(self) -> None:
        """Show the header of the run, and give plugins the screen."""
        state, terminal = self.state, self._plugin("terminalreporter")
        if terminal is None:  # -p no:terminal
            return
        terminal.showfspath = False
        terminal.ensure_newline()
        if terminal.isatty and getattr(self.config.option, "tx", None):
            terminal.write_line("")  # xdist redraws a line about its workers, and leaves it open
        self._write_titled(terminal, header(state.run.settings, state.run.plan, state.run.tools))
        self._write_titled(terminal, iter(state.run.hooks.lines("pytest_agentgauge_header", run=state.run)))
        if death := state.run.earlier_death:
            self._write_titled(terminal, iter([death]))
        self._late_header_is_due = True
        if state.run.benchmark_cases:
            verbose = self.config.option.verbose > 0  # pytest writes a line for each case itself
            write, file = self._past_capture(terminal)
            self._screen = Screen(write, is_live=terminal.isatty and not verbose, file=file)
            state.run.hooks.tell_now("pytest_agentgauge_screen", run=state.run, screen=self._screen)

    def _past_capture(self, terminal: pytest.TerminalReporter) -> tuple[Write, int | None]:
        """Writes to the terminal from any thread, past pytest's capture of the running test's output; and the
        terminal's file descriptor."""
        terminal.flush()
        try:
            file = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="replace")
        except (OSError, AttributeError):  # no file: another program has put its own in its place
            return partial(terminal.write, flush=True), None
        stream = output(self.config, file)
        self.config.add_cleanup(stream.close)

        def write(text: str) -> None:
            if terminal.currentfspath:  # with -v: the test that runs is named there
                terminal.currentfspath = None
                text = f"\n{text}"
            stream.write(text)
            stream.flush()

        return write, file.fileno()

    def _write_titled(self, terminal: pytest.TerminalReporter, lines: Iterator[str]) -> None:
        from agentgauge_reports.text import titled

        width = shutil.get_terminal_size().columns if terminal.isatty else None  # whole lines for a search in a log
        for line in titled("agentgauge: ", lines, width):
            _write(terminal, line)

    @pytest.hookimpl(tryfirst=True)  # before pytest begins the case's line
    def pytest_runtest_logstart(self) -> None:
        """Show header lines that take time to compute. The first case has begun, so they delay no request."""
        if self._late_header_is_due:
            self._late_header_is_due = False
            if lines := self.state.run.hooks.lines("pytest_agentgauge_late_header", run=self.state.run):
                self._make_room()
                self._write_titled(self._plugin("terminalreporter"), iter(lines))

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Further signals make every process write on the terminal."""
        if self._screen:
            self._screen.settle()

    def _make_room(self) -> None:
        if self._screen:
            self._screen.make_room()

    def worker_died(self, worker: str, tests: list[str], *, is_last: bool) -> None:
        """Report which tests were running in a worker that died; they run again. ``is_last``: xdist ends the run."""
        terminal = self._plugin("terminalreporter")
        if terminal is not None and self.config.option.verbose >= 0:
            named = f"{', '.join(tests[:NAMED])}{f' and {len(tests) - NAMED} more' if len(tests) > NAMED else ''}"
            count = "this test was" if len(tests) == 1 else f"{len(tests)} tests were"
            again = "it runs again, with no other" if len(tests) == 1 else "they run again, one at a time"
            again += f", when the run is resumed with --resume={self.state.run.folder}" if is_last else ""
            self._make_room()
            terminal.ensure_newline()
            _write(terminal, f"agentgauge: worker {worker} died while {count} running: {named}; {again}")

    def report_waiting(self) -> None:
        """After the run was stopped: for what it waits. Called in another thread."""
        work, screen = running_work(self.state.run.folder), self._screen
        if not work.cases or not screen:
            return
        requests = f"{work.requests} running request{'s' * (work.requests != 1)}"
        what = requests if work.requests else f"{work.cases} running case{'s' * (work.cases != 1)}"
        screen.write_line(
            f"agentgauge: {self.state.run.stop_reason}: waiting for {what}, at most {LONGEST_WAIT / 60:g} min; no"
            " further request is sent, and Ctrl-C ends the wait"
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Count benchmark cases by their status, and leave the screen to the progress line. What a test says for a
        reason of its own is pytest's."""
        status = None if _is_ordinary(report) else _status(report)
        if _is_rerun(report):
            is_theirs = status is None and self._plugin("rerunfailures")
            return None if is_theirs else ("rerun", "", "RERUN" if self.config.option.verbose > 0 else "")
        if status is None:
            is_quiet = KEPT in getattr(report, "user_properties", ()) and self.config.option.verbose <= 0
            return ("skipped", "", "SKIPPED") if is_quiet and report.skipped else None  # the header has their number
        if report.when in ("setup", "teardown") and report.passed:
            return "", "", ""
        # pytest sees the first missing case only, or one of each worker: the end of the run has their number
        category = "" if status == "missing" else status
        return category, "", status.upper() if self.config.option.verbose > 0 else ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        status = _status(report)
        self._count(report, status)
        if _is_ordinary(report) and (report.when == "call" or not report.passed):
            self._make_room()  # pytest writes a letter
        yield
        if status is not None and not _is_ordinary(report) and not _is_rerun(report):
            report.user_properties = []  # the lists at the end of the run use pytest's own words
            self._drop_reports(status)

    def _count(self, report: pytest.TestReport, status: str | None) -> None:
        state = self.state
        if report.failed:
            state.failures += 1
            state.ordinary_failures += _is_ordinary(report)
            most = self.config.option.maxfail or 0
            if 0 < most <= state.failures and not StopFile(state.run.folder).exists():  # it may await requests
                state.run.stop_workers(f"{'-x (--maxfail=1)' if most == 1 else f'--maxfail={most}'} ended the run")
        properties: dict[str, Any] = dict(report.user_properties)
        state.missing_reason = state.missing_reason or properties.get("agentgauge.missing") or ""
        if status is None or _is_rerun(report):
            return
        if (reason := properties.get("agentgauge.stop")) and not state.run.stop_reason:
            state.run.stop(str(reason))
        if status != "missing" and (
            report.when not in ("setup", "teardown") or (report.when == "setup" and report.failed)
        ):
            self._counted += 1

    def _drop_reports(self, status: str) -> None:
        """Bound the memory of a long run: the terminal keeps three reports of 1 to 3 KB a case until its end, for which
        pytest has no hook.

        The terminal counts the reports of each category. Where it also lists them (``-v``, ``-rp``, ``--durations``)
        all stay; otherwise a few stay, and one of them stands for each further one. They are the first ones by
        their names, not by time, so that every run of the same cases shows the same examples.
        """
        terminal, option = self._plugin("terminalreporter"), self.config.option
        if terminal is None or option.durations is not None:
            return
        from agentgauge_reports.terminal import SHOWN

        terminal.stats.pop("", None)  # set-ups and teardowns that passed
        listed = {"p", "P", "A"} & set(option.reportchars) if status == "passed" else option.verbose > 0
        reports = terminal.stats.get(status, ())
        is_stored = any(reports[-1] is one for one in reports[:SHOWN])  # of a set-up or teardown nothing was added
        if len(reports) > SHOWN and not listed and not is_stored:
            first = sorted([*reports[:SHOWN], reports.pop()], key=_by_case)[:SHOWN]
            others = len(reports) - SHOWN
            if not (others and any(reports[SHOWN] is one for one in first)):  # the one that stood for others is none
                reports[SHOWN:] = [first[0]] * others
            reports[:SHOWN] = first
            reports.append(reports[SHOWN] if others else first[0])

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Remove secrets from the error, because other plugins write it, too, such as JUnit's report."""
        shown = str(excrepr)
        if (redacted := redact(shown)) != shown:
            excrepr.reprtraceback = _Text(redacted)
            excrepr.chain = [(excrepr.reprtraceback, None, None)]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        state = self.state
        if state.run.summary_json is not None:
            from agentgauge_reports.terminal import line_of_own_tests, next_steps, of_benchmarks

            if state.run.benchmark_cases:
                self._write_results(terminalreporter, of_benchmarks(state.run.summary_json, state.run.settings.tasks))
            else:
                terminalreporter.write_sep("=", "agentgauge")
                self._write_endpoints(terminalreporter, state.run.summary_json)
            for line in line_of_own_tests(state.run.summary_json, state.run.settings.tasks):
                _write(terminalreporter, line)
        for line in state.run.held:
            _write(terminalreporter, line)
        for problem in (*state.run.notes, *state.run.problems):
            _write(terminalreporter, problem, red=True)
        if state.run.summary_json is None:
            if state.has_begun and not state.is_kept:
                _write(terminalreporter, "agentgauge: no run folder; --run-dir=DIR keeps records and transcripts")
            return
        folder = state.run.folder
        if reason := state.run.stop_reason or ("interrupted" if state.interrupted else ""):
            _write(terminalreporter, f"stopped early: {reason}; continue with --resume={folder}")
        boards = ["leaderboard.md"] if state.run.benchmark_cases else []
        files = ", ".join([*state.run.pages, "summary.json", *boards, "records.jsonl"])
        steps = next_steps(state.run.summary_json, state.run.settings.tasks, folder, selection=words(self.config))
        for line in (f"results: {folder}/{files}", *steps):
            _write(terminalreporter, line)
        write = partial(_write, terminalreporter)
        state.run.hooks.tell_now("pytest_agentgauge_terminal", run=state.run, write=write)
        for failure in state.run.hooks.failures.sentences():
            if failure not in state.run.notes:
                write(failure, red=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None]:
        """Below pytest's last line: why it has fewer cases than the run folder."""
        yield
        terminal, summary = self._plugin("terminalreporter"), self.state.run.summary_json
        tasks = summary and summary["tasks"]
        if terminal is None or not tasks:
            return
        stored = sum(tasks[name][end] for name in self.state.run.benchmark_cases for end in STATUSES)
        if self._counted < stored:
            what = "1 case has finished and is" if stored == 1 else f"{stored} cases have finished and are"
            why = "cases run ahead of pytest, which reports them in its own order"
            self._write_titled(terminal, iter([f"pytest counted {self._counted}; {what} stored, because {why}"]))

    def _write_endpoints(self, terminal: pytest.TerminalReporter, summary: dict[str, Any]) -> None:
        """What the answers to a project's own tests show of their endpoints."""
        from agentgauge_reports.notices import endpoint_doubts, estimated_tokens

        for doubt in endpoint_doubts(summary):
            _write(terminal, doubt, red=True, bold=True)
        for note in estimated_tokens(summary):
            _write(terminal, note, yellow=True)

    def _write_results(self, terminal: pytest.TerminalReporter, summary: dict[str, Any]) -> None:
        from agentgauge_reports.load import load_run
        from agentgauge_reports.notices import alarm, doubts, remarks
        from agentgauge_reports.terminal import SHOWN, by_keyword, end_screen, explanations, meaning
        from agentgauge_reports.text import fill

        tasks, folder = self.state.run.settings.tasks, self.state.run.folder
        width, verbose = shutil.get_terminal_size().columns, self.config.option.verbose > 0
        for status in ("wrong", "broken"):
            reports = terminal.stats.get(status, [])
            own = len(reports) if verbose else SHOWN  # the others are only counted
            ordered = [*sorted(reports[:own], key=_by_case), *reports[own:]]
            texts = [(report.nodeid, str(report.longrepr)) for report in ordered]
            for line in explanations(status, texts, width, full=verbose):
                _write(terminal, line)
        terminal.write_sep("=", "agentgauge")
        loud = {"red": True, "bold": True}
        first = [(alarm(summary), loud), *((text, loud) for text in doubts(summary, tasks))]
        cut = [(line, {"yellow": True}) for line in remarks(summary)]
        for text, look in (*first, *cut, (meaning(summary, tasks), {})):
            if text:
                for line in (*fill("", text, width), ""):
                    _write(terminal, line, **look)
        for line in end_screen(summary, tasks, width, full=verbose, pages=self.state.run.pages):
            _write(terminal, line)
        if "wrong" in terminal.stats:
            _write(terminal, "wrong answers are results: they do not change the exit status")
        if verbose:
            for line in by_keyword(load_run(folder, tasks=tasks), width):
                _write(terminal, line)

    def _plugin(self, name: str) -> Any:
        return self.config.pluginmanager.get_plugin(name)


def _by_case(report: pytest.TestReport) -> list[str | int]:
    """Orders node ids by their texts and numbers: ``[2]`` before ``[10]``."""
    return [int(part) if number % 2 else part for number, part in enumerate(_NUMBERS.split(report.nodeid))]


_NUMBERS = re.compile(r"(\d{1,18})", re.ASCII)


def _write(terminal: pytest.TerminalReporter, line: str, **look: bool) -> None:
    """A line that may hold what a model or a run folder says."""
    terminal.write_line(clean(line), **look)


class _Text:
    """A representation of an error for pytest that is this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def toterminal(self, writer: Any) -> None:
        writer.write(self._text)


def _status(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """A benchmark case's status, or None for an ordinary test. Workers send it along with each report."""
    for name, value in getattr(report, "user_properties", ()):
        if name == "agentgauge.status":
            return str(value)
    return None


def _is_ordinary(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Whether it is the report of an ordinary test, or of a case whose test fails for a reason of its own."""
    return _status(report) is None or OF_THE_TEST in getattr(report, "user_properties", ())


def _is_rerun(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Whether a test is run once more: its worker died, or pytest-rerunfailures does it."""
    return getattr(report, "outcome", "") == "rerun"
