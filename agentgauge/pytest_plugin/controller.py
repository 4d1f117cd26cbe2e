"""The side of the plugin that plans, starts services, watches and sums up: pytest's first process."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agentgauge.core.atomic_write import cannot_write
from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import redact
from agentgauge.core.task_registry import find_task
from agentgauge.core.types import Record
from agentgauge.model.cassette_file import create_cassette
from agentgauge.pytest_plugin.claim import SELECTION
from agentgauge.pytest_plugin.options import Settings, config_fingerprint, stored_settings
from agentgauge.pytest_plugin.worker import IDLE, STOP_FILE
from agentgauge.run.budget import BudgetWatch
from agentgauge.run.factories import await_services, start_services, stop_services
from agentgauge.run.partition import GROUPS, MODES
from agentgauge.run.preflight import check, get_ready
from agentgauge.run.progress import Progress
from agentgauge.run.run_metadata import describe, header, run_json
from agentgauge.run.services import Service
from agentgauge.run.slots import FILE as PLACES
from agentgauge.run.waiting_requests import FILE as WAITING
from agentgauge.run.waiting_requests import waiting_requests
from agentgauge.store import RunFolder
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.jsonl import CaseId
from agentgauge.store.record_merge import LeftOut, left_out_notes

CRASHES_PER_CASE = 2
"""A case on which a worker dies runs once more; the second time it is broken."""


class Controller:
    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.folder = RunFolder(settings.run_dir)
        self.plan: list[CaseId] = []
        self.services: dict[str, Service] = {}
        self._sandbox: tuple[str, ...] = ()
        self.tools: dict[str, Mapping[str, Any]] = {}  # what identifies each tool of this run
        self.progress: Progress | None = None
        self.summary: dict[str, Any] | None = None
        self.problems: list[str] = []  # why the exit status is 1
        self._notes: list[str] = []  # what else a person should know at the end
        self._gates: list[dict[str, str | None]] = []
        self.stop_reason: str | None = None
        self._service_problem = ""  # why one did not start, or is gone for good
        self._crashes: Counter[str] = Counter()
        self._got_ready = False
        self._places: dict[str, int] = {}  # worker → which share of --in-flight it has
        self._free_places: list[int] = []  # those of workers that died
        self._watch: BudgetWatch | None = None
        self._ordinary_failures = 0
        self._interrupted = False
        self._failures = 0
        self._started = time.time()

    # -- before cases run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Serial runs: the plan has just been written."""
        if not self.config.option.collectonly and not is_distributed(self.config):
            self._begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Distributed runs: a worker has written the plan; no case is sent before the services are up."""
        if self.progress is None:
            self._begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["agentgauge_run_dir"] = str(self.settings.run_dir)
        node.workerinput["agentgauge_controller"] = os.getpid()
        node.workerinput["agentgauge_selection"] = self.config.stash.get(SELECTION, {})
        worker = node.gateway.id
        # a replacement takes the place of the one that died
        self._places[worker] = self._free_places.pop(0) if self._free_places else int(worker.removeprefix("gw"))
        node.workerinput["agentgauge_place"] = self._places[worker]
        node.workerinput["agentgauge_dist"] = self.config.getoption("dist")  # xdist keeps it from its workers

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """The workers collect now, and there is nothing to do here: what checking the tools takes is loaded
        meanwhile."""
        if not self._got_ready:
            self._got_ready = True
            get_ready(self.settings, self.config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if error and node.gateway.id in self._places:
            self._free_places.append(self._places[node.gateway.id])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if config.getoption("dist") not in MODES:
            return None
        from agentgauge.pytest_plugin.xdist.scheduler import Scheduling

        return Scheduling(
            config,
            log,
            has_cases=lambda: self.progress is not None,
            groups=self._groups,
            in_flight=self.settings.in_flight,
        )

    def _groups(self) -> Mapping[int, str]:
        """What a worker has written of the cases' groups."""
        if self.config.getoption("dist") != "loadgroup":
            return {}
        return dict(self.folder.read_json(GROUPS))

    def _begin(self) -> None:
        if not (self.folder.path / "planned.json").exists():
            return  # no benchmark case was selected: this is an ordinary pytest run
        dist = self.config.getoption("dist", "no")
        if dist not in ("no", *MODES):
            self.folder.discard()
            raise pytest.UsageError(
                f"--dist {dist} would ask for benchmark cases more than once; accepted are {', '.join(MODES)} (-n by"
                " itself means load)"
            )
        try:
            self.plan = list(self.folder.plan())
            tasks = {task for task, _, _ in self.plan}
            for left in (STOP_FILE, PLACES, WAITING):
                (self.folder.path / left).unlink(missing_ok=True)
            self._prepare(tasks)
            if self.settings.record:
                create_cassette(self.settings.record, stored_settings(self.settings, self.tools))
            self._write_run_json(finished=None)
            if dist == "no":
                self.config.stash[IDLE] = self._draw_if_late
            if self.settings.budget:
                self._watch = BudgetWatch(self.settings.budget, self.folder, self._stop)
            if self._service_problem:
                raise UsageProblem(self._service_problem)
            self.folder.reserve()
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        except OSError as error:
            pytest.exit(self._cannot_write(error), returncode=pytest.ExitCode.TESTS_FAILED)
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:  # -p no:terminal
            self.progress = Progress(None, live=False, total=len(self.plan))
            return
        reporter.showfspath = False
        reporter.ensure_newline()
        from reports.text import fill

        for told in (f"agentgauge: {line}" for line in header(self.settings, self.plan, self.tools)):
            # whole lines for whoever searches a log
            for line in fill("", told, shutil.get_terminal_size().columns, hanging="  ") if reporter.isatty else [told]:
                reporter.write_line(line)
        verbose = self.config.option.verbose > 0  # pytest writes a line for each case itself
        write, waiting = None if verbose else reporter.write, partial(waiting_requests, self.folder.path)
        self.progress = Progress(write, live=reporter.isatty, total=len(self.plan), waiting=waiting)
        if dist != "no":
            self.progress.watch()

    def _prepare(self, tasks: set[str]) -> None:
        """Check the tools, and start the services. Raises UsageProblem."""
        self.tools, self._sandbox = check(self.settings, self.plan)
        self.services = start_services(self.settings, self.folder, tasks, self._service_failed)
        await_services(self.settings, self.services)

    # -- while cases run

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Count benchmark cases by our own words, and leave the screen to the progress line."""
        status = _status(report)
        if status is None:
            return ("rerun", "", "RERUN") if getattr(report, "outcome", "") == "rerun" else None
        if report.when == "teardown" and report.passed:
            return "", "", ""
        if report.when == "setup" and report.passed:
            return "", "", ""
        loud = self.config.option.verbose > 0
        return status, "", status.upper() if loud else ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        status = _status(report)
        self._count(report, status)
        yield
        if status is not None:
            report.user_properties = []  # the lists at the end of the run use pytest's own words
            self._drop_reports(status)

    def _count(self, report: pytest.TestReport, status: str | None) -> None:
        if report.failed:
            self._failures += 1
            if status is None:
                self._ordinary_failures += 1
            if 0 < (self.config.option.maxfail or 0) <= self._failures:
                self._stop_workers(f"stopping after {self._failures} failures")
        if status is None or self.progress is None:
            return
        properties = dict(report.user_properties)
        if (reason := properties.get("agentgauge.stop")) and not self.stop_reason:
            self._stop(str(reason))
        if not (report.when == "call" or report.failed):
            return
        self.progress.add(
            status, int(str(properties.get("agentgauge.tokens", 0))), float(str(properties.get("agentgauge.usd", 0.0)))
        )

    def _drop_reports(self, status: str) -> None:
        """Bound the memory of a long run: the terminal keeps three reports of 1 to 3 KB a case until its end.

        The terminal counts the reports of each category. Where it also lists them (``-v``, ``-rp``, ``--durations``)
        all stay; otherwise the first few stay, and the first one stands for each further one.
        """
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        option = self.config.option
        if terminal is None or option.durations is not None:
            return
        from reports.terminal import SHOWN

        terminal.stats.pop("", None)  # set-ups and teardowns that passed
        listed = {"p", "P", "A"} & set(option.reportchars) if status == "passed" else option.verbose > 0
        reports = terminal.stats.get(status, ())
        if len(reports) > SHOWN and not listed:
            reports[-1] = reports[0]

    def _draw_if_late(self) -> None:
        """While pytest waits for a case, whose output it captures."""
        if self.progress is None or not self.progress.is_late():
            return
        capture: Any = self.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            self.progress.draw()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        self._crashes[crashitem] += 1
        if self.progress is None:
            return
        if self._crashes[crashitem] < CRASHES_PER_CASE:
            sched.mark_test_pending(crashitem)
            report.outcome = "rerun"  # type: ignore[assignment]
        elif case := next((case for case, node in self.folder.plan().items() if node == crashitem), None):
            self._keep_broken(case, str(report.longrepr))
            report.user_properties.append(("agentgauge.status", "broken"))

    def _keep_broken(self, case: CaseId, error: str) -> None:
        record = Record(
            *case,
            config=config_fingerprint(self.settings, find_task(case[0])),
            status="broken",
            error=error,
            cause="worker died",
            worker="controller",
            finished=time.time(),
        )
        try:
            appender = self.folder.appender("controller")
            appender.append(record)
            appender.close()
        except OSError as problem:
            self._stop(cannot_write(self.folder.path, problem))

    def _stop_workers(self, reason: str) -> None:
        """Nothing new is started, anywhere; what is in flight may end."""
        if self.plan:
            self.folder.free_reserve()
            with suppress(OSError):  # the disk is full: workers find that out
                (self.folder.path / STOP_FILE).write_text(reason, encoding="utf-8")

    def _stop(self, reason: str) -> None:
        self.stop_reason = reason
        self._stop_workers(reason)

    def _service_failed(self, problem: UsageProblem) -> None:
        """Cases may be running that need it no sooner than now."""
        self._service_problem = str(problem)
        self._stop(str(problem))

    # -- afterwards

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if hasattr(self.config.option, "clean_alluredir"):
            self.config.option.clean_alluredir = (
                False  # it is clean by now; a worker that cleans wipes the others' results
            )
        if not self.config.option.collectonly and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _terminate)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any) -> None:
        """Others write it too, such as JUnit's report."""
        shown = str(excrepr)
        if (clean := redact(shown)) != shown:
            excrepr.reprtraceback = _Text(clean)
            excrepr.chain = [(excrepr.reprtraceback, None, None)]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        # xdist's own Interrupted is one too; it also stands for -x and --maxfail, and says so when a worker got the
        # signal
        self._interrupted = excinfo.type is KeyboardInterrupt or "keyboard-interrupt" in str(excinfo.value)
        if self._interrupted:
            self._stop_workers("interrupted")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        for service in self.services.values():
            service.tell_to_end()  # which takes them longer than the summary takes us
        try:
            if self._watch:
                self._watch.stop()
            if self.progress is not None:
                self._sum_up(session, exitstatus, self.progress)
        except (OSError, UsageProblem) as error:
            self.problems.append(self._cannot_write(error) if isinstance(error, OSError) else str(error))
            if not self._interrupted:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        finally:
            stop_services(self.services)

    def _sum_up(self, session: pytest.Session, exitstatus: int, progress: Progress) -> None:
        for left in (PLACES, WAITING):
            (self.folder.path / left).unlink(missing_ok=True)
        self.folder.free_reserve()
        progress.finish()
        from reports.load import load_run
        from reports.page import write_page
        from reports.run import sum_up
        from reports.unshown import Unshown

        settings = self.settings
        tasks = [find_task(name) for name in dict.fromkeys(task for task, _, _ in self.plan)]
        left_out: list[LeftOut] = []
        outlines = self.folder.merge_records(self.plan, left_out)
        self._notes += left_out_notes(self.folder.path, left_out, LEFT_OUT)
        self.summary = sum_up(
            self.folder,
            self.plan,
            outlines,
            about=describe(settings, tasks, self.tools),
            index_of=lambda task: task.data.index(settings.roots[task.name]),
            scoring=settings.scoring,
            similarity=settings.similarity,
        )
        self._judge(session, exitstatus)
        self._write_run_json(finished=time.time())
        unshown = Unshown()
        loaded = load_run(self.folder.path, self.plan, outlines)
        write_page(self.folder.path, self.folder.path / "report.html", loaded=loaded, unshown=unshown)
        self._notes += unshown.told("report.html")
        if results := self.config.getoption("allure_report_dir", None):
            from reports.allure import write_run

            unshown = Unshown()
            write_run(self.folder.path, Path(results), unshown=unshown)
            self._notes += unshown.told("the Allure results")

    def _judge(self, session: pytest.Session, exitstatus: int) -> None:
        """The exit status. See ARCHITECTURE: wrong answers are results."""
        assert self.summary is not None
        tasks = self.summary["tasks"].values()
        for word in ("broken", "missing"):
            if count := sum(task[word] for task in tasks):
                self.problems.append(f"{count} {'case is' if count == 1 else 'cases are'} {word}")
        self._gates = [
            {"text": gate.text, "problem": gate.check(self.summary, self.folder.path)} for gate in self.settings.gates
        ]
        self.problems += [gate["problem"] for gate in self._gates if gate["problem"]]
        if exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) or self._interrupted:
            return
        if self._service_problem:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if exitstatus == pytest.ExitCode.INTERRUPTED and not (self.stop_reason or self._failures):
            return  # collection errors, or a worker that was interrupted
        failed = self.problems or self._ordinary_failures
        session.exitstatus = pytest.ExitCode.TESTS_FAILED if failed else pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.summary is None:
            for problem in (*self._notes, *self.problems):
                terminalreporter.write_line(problem, red=True)
            return
        from reports.load import load_run
        from reports.terminal import by_keyword, combined, explanations, tables

        for status in ("wrong", "broken"):
            texts = [(report.nodeid, str(report.longrepr)) for report in terminalreporter.stats.get(status, ())]
            for line in explanations(status, texts, full=self.config.option.verbose > 0):
                terminalreporter.write_line(line)
        terminalreporter.write_sep("=", "agentgauge")
        for line in tables(self.summary, shutil.get_terminal_size().columns):
            terminalreporter.write_line(line)
        if terminalreporter.config.option.verbose > 0:
            for line in by_keyword(load_run(self.folder.path), shutil.get_terminal_size().columns):
                terminalreporter.write_line(line)
        for line in combined(self.summary):
            terminalreporter.write_line(line)
        for problem in (*self._notes, *self.problems):
            terminalreporter.write_line(problem, red=True)
        if self.stop_reason:
            terminalreporter.write_line(f"stopped early: {self.stop_reason}; go on with --resume={self.folder.path}")
        terminalreporter.write_line(
            f"results: {self.folder.path}/report.html, summary.json, leaderboard.md, records.jsonl"
        )

    def _cannot_write(self, error: OSError) -> str:
        return f"{cannot_write(self.folder.path, error)}; go on with --resume={self.folder.path}"

    def _write_run_json(self, finished: float | None) -> None:
        about = run_json(
            self.config,
            self.settings,
            self.plan,
            tools=self.tools,
            sandbox=self._sandbox,
            gates=self._gates,
            started=self._started,
            finished=finished,
        )
        self.folder.write_json("run.json", about)


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


def _terminate(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends a run as Ctrl-C does: what is finished is kept and summed up."""
    raise KeyboardInterrupt


def is_distributed(config: pytest.Config) -> bool:
    """Whether this process only controls xdist workers. There are none where cases are only collected."""
    return (
        config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None)) and not config.option.collectonly
    )
