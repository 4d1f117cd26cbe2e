"""The controller, which runs in pytest's first process: it plans the run, starts services, watches the workers and sums
up.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tracebacks import with_mistake
from agentgauge.pytest_plugin.keys import COLLECTION, DRIVER, LOST_OUTPUT, NOTES, REFUSED
from agentgauge.pytest_plugin.options import only_looks, test_paths
from agentgauge.pytest_plugin.reporting import Reporting
from agentgauge.pytest_plugin.run_state import SELECTION, RunState, not_found
from agentgauge.run.coordination.stopping import Interrupts, RunningFile, RunningWork
from agentgauge.run.crashes import GUILTY, Suspects, store_crash, unended
from agentgauge.run.partition import GROUPS, MODES
from agentgauge.run.preflight import load_early, vision_lines
from agentgauge.run.run import Run
from agentgauge.run.run_services import stop_services

if TYPE_CHECKING:
    from agentgauge.pytest_plugin.xdist import Scheduling

REPORT_SECONDS = 0.6
"""Seconds after the stop until all workers have written what still runs."""

KEYBOARD_INTERRUPT = "keyboard-interrupt"
"""What xdist calls the error of a worker that Ctrl-C has ended."""


class Controller:
    def __init__(self, config: pytest.Config, run: Run) -> None:
        """``run``: its folder is claimed."""
        self.config = config
        self.run = run
        self.settings = run.settings
        self.state = RunState(config, run)
        self.folder = run.files
        self.reporting = Reporting(self.state)
        self._interrupts = Interrupts()
        self._suspects = Suspects.read(self.folder.path)  # of the run that is resumed, and of workers that have died
        self._first = sorted(self._suspects.names)  # in this order all processes collect, whichever dies later
        self._scheduling: Scheduling | None = None
        self._running_at_death: dict[str, list[str]] = {}  # worker → the tests that were running when it died
        self._loaded_early = False
        self._deaths = 0  # of workers
        self._numbers: dict[str, int] = {}  # worker → its number: which shard and slots it has
        self._free_numbers: list[int] = []  # of workers that died

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if hasattr(self.config.option, "clean_alluredir"):
            self.config.option.clean_alluredir = False  # it is clean by now; a worker would wipe the others' results
        if not only_looks(self.config) and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
            self.config.add_cleanup(partial(self._interrupts.restore, signal.SIGTERM, before))

    # -- before cases run

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Serial runs: the plan has just been written."""
        collection = self.config.stash.get(COLLECTION, None)
        if collection is not None:
            self.run.notes += collection.notes
            if collection.is_chosen and not only_looks(self.config):
                self._begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Distributed runs: a worker has written the plan; no case is sent before the services are up."""
        if not self.state.has_begun:
            self._begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        worker = node.gateway.id
        # a replacement has the number of the worker that died
        self._numbers[worker] = self._free_numbers.pop(0) if self._free_numbers else int(worker.removeprefix("gw"))
        node.workerinput["agentgauge_run_dir"] = str(self.settings.run_dir)
        node.workerinput["agentgauge_controller"] = os.getpid()
        node.workerinput["agentgauge_selection"] = self.config.stash.get(SELECTION, {})
        node.workerinput["agentgauge_first"] = self._first
        node.workerinput["agentgauge_number"] = self._numbers[worker]
        node.workerinput["agentgauge_queue"] = self._scheduling.reserve(worker) if self._scheduling else None
        node.workerinput["agentgauge_dist"] = self.config.getoption("dist")  # xdist keeps it from its workers

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """The workers collect now: meanwhile the controller loads what checking the tools needs."""
        if not self._loaded_early:
            self._loaded_early = True
            load_early(self.settings, test_paths(self.config))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if refused := getattr(node, "workeroutput", {}).get(REFUSED):
            raise pytest.UsageError(refused)
        self.run.notes += getattr(node, "workeroutput", {}).get(NOTES, [])
        worker = node.gateway.id
        if self._scheduling:
            self._scheduling.release(worker)
        self._deaths += bool(error)
        if error and worker in self._numbers:
            self._free_numbers.append(self._numbers[worker])
            RunningFile(self.folder.path, self._numbers[worker]).write(RunningWork())
        if error and error != KEYBOARD_INTERRUPT and self.state.has_begun:
            plan, lines = self.folder.plan(), self.folder.lines()
            running = [found.case for found in unended(self.folder.path, worker)]
            finished = {case for case in running if case in lines and lines[case].finished}
            self._running_at_death[worker] = [plan[case] for case in running if case in plan and case not in finished]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if config.getoption("dist") not in MODES:
            return None
        from agentgauge.pytest_plugin.xdist import Scheduling, ShardScheduling

        others = config.pluginmanager.subset_hook_caller("pytest_xdist_make_scheduler", [self])
        self._scheduling = Scheduling(
            ShardScheduling(
                config, log, self._groups, self.settings.slots, lambda: self._suspects.names, self._numbers
            ),
            has_cases=lambda: bool(self.run.benchmark_cases),
            xdists_own=partial(others, config=config, log=log),
        )
        return self._scheduling

    def _groups(self) -> Mapping[int, str]:
        """What a worker has written of the cases' groups."""
        if self.config.getoption("dist") != "loadgroup":
            return {}
        return dict(self.folder.read_json(GROUPS))

    def _begin(self) -> None:
        if not (self.folder.path / "planned.json").exists():
            return  # no benchmark case was selected: this is an ordinary pytest run
        dist = self.config.getoption("dist", "no")
        try:
            self._prepare(dist)
        except UsageProblem as problem:
            if not (self.settings.resume or self.folder.has_records or self.run.services):  # whose logs are kept
                self.folder.discard()
            raise pytest.UsageError(with_mistake(problem, self.config.getoption("tbstyle", "auto"))) from None
        except OSError as error:
            pytest.exit(self.state.cannot_write(error), returncode=pytest.ExitCode.TESTS_FAILED)
        self._interrupts.handle(signal.SIGTERM, signal.SIGINT, add_cleanup=self.config.add_cleanup)
        self.config.add_cleanup(self._remove_folder)
        self.state.has_begun = True
        self.reporting.begin()

    def _prepare(self, dist: str) -> None:
        """Raises UsageProblem and OSError."""
        state, plan = self.state, self.folder.plan()
        self.run.plan = list(plan)
        if dist not in ("no", *MODES) and state.is_kept:
            what = "benchmark cases" if self.run.benchmark_cases else "tests that leave a record"
            raise UsageProblem(
                f"--dist {dist} would run {what} more than once; accepted are {', '.join(MODES)} (-n by itself means"
                " load)"
            )
        self.run.on_wait = self._report_waiting
        self.run.begin(self._connect if self.settings.launch else None)

    def _report_waiting(self) -> None:
        """Called in another thread."""
        time.sleep(REPORT_SECONDS)
        self.reporting.report_waiting()

    def _connect(self, configs: Mapping[str, str]) -> None:
        """To the cluster on which cases run. Raises UsageProblem."""
        from agentgauge.pytest_plugin.worker import node_arguments
        from agentgauge.run.launch.driver import Driver

        paths: dict[str, Any] = {"root": self.config.rootpath, "here": self.config.invocation_params.dir}
        more = {**paths, "arguments": node_arguments(self.config), "failed": self.run.service_failed}
        driver = self.config.stash[DRIVER] = Driver(self.settings, configs, self.run.tools, **more)
        self.config.add_cleanup(driver.close)

    # -- while cases run

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """A worker died. xdist blames the test that pytest had reached, which need not be the one that is guilty: the
        look-ahead runs others at the same time."""
        scheduling = self._scheduling
        if not self.state.has_begun or scheduling is None:
            return
        worker = report.node.gateway.id
        running = self._running_at_death.pop(worker, None)
        is_back = report.outcome == "rerun"  # pytest-rerunfailures has put it back into the queue
        try:
            if not scheduling.is_ours:  # no look-ahead: xdist is right about its tests
                if not is_back:
                    self._break_guilty(crashitem, report)
                return
            if running is not None and self._suspects.worker_died(running, crashitem, again=is_back):
                report.longrepr = f"{report.longrepr}: {GUILTY}"
                self._break_guilty(crashitem, report)
            elif not is_back:
                scheduling.mark_test_pending(crashitem)
                report.outcome = "rerun"
            self._suspects.write(self.folder.path)
        except OSError as error:
            self.run.stop(self.state.cannot_write(error))
        if running and report.outcome == "rerun":
            from xdist.dsession import get_default_max_worker_restart

            most = get_default_max_worker_restart(self.config)  # --max-worker-restart, or xdist's own limit
            is_last = most is not None and self._deaths > most
            self.reporting.worker_died(worker, sorted({*running, crashitem}), is_last=is_last)

    def _break_guilty(self, test: str, report: Any) -> None:
        """Raises OSError."""
        case = next((case for case, node in self.folder.plan().items() if node == test), None)
        lines = self.folder.lines()
        if case is None or (case in lines and lines[case].finished):  # its record stands: what followed killed it
            return
        if not self.settings.tasks[case[0]].data.in_run_folder:  # how a project's own test ended, pytest itself reports
            report.user_properties.append(("agentgauge.status", "broken"))
        store_crash(self.settings, case, str(report.longrepr))

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if not self.config.option.fulltrace:  # pytest fails to show a place between two lines, where a signal may come
            excinfo.traceback = excinfo.traceback[-1:]
        # xdist's own Interrupted is one too, also for -x and --maxfail; it says so when a worker got the signal
        self.state.interrupted = excinfo.type is KeyboardInterrupt or "keyboard-interrupt" in str(excinfo.value)
        if self.state.interrupted:
            self.run.stop_workers("interrupted")

    # -- the end

    @pytest.hookimpl(tryfirst=True, specname="pytest_sessionfinish")
    def begin_end(self) -> None:
        """Note that the run ends: workers end, and fixtures are torn down."""
        self._interrupts.is_ending = True

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None]:
        """Sum up once the other plugins have ended, whatever has become of their own reports."""
        for service in self.run.services.values():
            service.tell_to_end()  # which takes them longer than the summary takes us
        try:
            yield
        except OSError as error:  # such as of --junitxml
            self.run.problems.append(_unwritten_report(error))
            exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
            session.exitstatus = exitstatus
        finally:
            self._end(session, exitstatus)

    def _end(self, session: pytest.Session, exitstatus: int) -> None:
        try:
            self.run.end_beside()
            if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
                self.run.notes += not_found(self.config, self.settings)
            if terminal := self.config.pluginmanager.get_plugin("terminalreporter"):
                with suppress(OSError):  # of a terminal that is not ours
                    terminal.flush()  # ours notes that it cannot be written
            if lost := self.config.stash.get(LOST_OUTPUT, ""):
                self.run.problems.append(lost)
                session.exitstatus = exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED
            if driver := self.config.stash.get(DRIVER, None):
                self.run.tools, self.run.sandbox = driver.tools, driver.sandbox
            if self.state.has_begun and self.state.is_kept and not self.settings.assignment:
                session.exitstatus = self._sum_up(exitstatus)
            elif exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
                self.run.held += vision_lines(self.settings)
                if notes := self.run.why_empty():
                    self.run.held += notes
                    session.exitstatus = pytest.ExitCode.OK
        except MemoryError:
            why = "too little memory to sum up the run: free some, or raise the limit (ulimit -v)"
            self.run.problems.append(f"{why}; finished cases are kept; continue with --resume={self.folder.path}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        except (OSError, UsageProblem) as error:
            style = self.config.getoption("tbstyle", "auto")
            text = self.state.cannot_write(error) if isinstance(error, OSError) else with_mistake(error, style)
            self.run.problems.append(text)
            if not self.state.interrupted:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        finally:
            stop_services(self.run.services)

    def _sum_up(self, exitstatus: int) -> int:
        """Write the results into the run folder. Returns the exit status. Raises OSError and UsageProblem."""
        self.run.end(self.state.why_missing)
        return self.state.exit_status(exitstatus)

    def _remove_folder(self) -> None:
        """After a run of a project's own tests for which no run folder was asked."""
        if not self.state.is_kept:
            shutil.rmtree(self.folder.path, ignore_errors=True)


def _unwritten_report(error: OSError) -> str:
    """The sentence about a report that another plugin could not write."""
    modules = (frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__))
    ours = {"pluggy", "agentgauge", *sys.stdlib_module_names}
    plugin = [name for name in modules if name.partition(".")[0] not in ours][-1:] or ["another plugin"]
    report = f"{error.filename}, a report of {plugin[0]}," if error.filename else f"a report of {plugin[0]}"
    return f"{report} cannot be written ({error.strerror or error})"


def is_distributed(config: pytest.Config) -> bool:
    """Whether this process only controls xdist workers. There are none where cases are only collected."""
    return config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None)) and not only_looks(config)
