"""Follows a project's own tests while pytest runs them: which test is running, and how pytest says that it ended."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import Fault
from agentgauge.core.files import cannot_write
from agentgauge.core.index import Index, Row
from agentgauge.core.types import Json
from agentgauge.plugins.own_tests.case import OwnCases, planned_outside
from agentgauge.pytest_plugin.activation import activate_late
from agentgauge.pytest_plugin.collection import case_of
from agentgauge.pytest_plugin.keys import KEPT, OWN, RUNNING, WORKER
from agentgauge.pytest_plugin.worker import Worker
from agentgauge.run.planned import Planned
from agentgauge.store.jsonl import CaseId

RECORDS = "agentgauge-own-tests"
"""The name of the plugin that keeps the records, once there are such tests."""


def plan(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Plan a record for each test that uses a fixture of ours and is no case of a benchmark."""
    collection = activate_late(config)
    tests = [item for item in items if not item.get_closest_marker("benchmark_task")]
    if collection is None or not tests:
        return
    folder = collection.folder.path
    for item in tests:
        if item.get_closest_marker("skip"):
            continue
        needs_tools = "agentgauge_tools" in getattr(item, "fixturenames", ())
        task = collection.settings.tasks["tests.tools" if needs_tools else "tests"]
        tags = tuple(dict.fromkeys(mark.name for mark in item.iter_markers() if not (mark.args or mark.kwargs)))
        item.stash[OWN] = Planned(task, Index(folder, folder / "planned.json", "", ()), Row(item.nodeid, tags, 0), 1)
    if (worker := config.stash.get(WORKER, None)) and not config.pluginmanager.has_plugin(RECORDS):
        config.pluginmanager.register(OwnTests(worker), RECORDS)


class OwnTests:
    """Keeps the record of each test that uses a fixture of ours. Registered in processes that run cases."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._cases: OwnCases | None = None
        self._running: pytest.Item | None = None
        self._began = 0.0
        self._reports: list[pytest.TestReport] = []  # of the last attempt at the running test
        self._faults: list[Fault] = []  # that ended a phase of it
        self._failed: set[CaseId] = set()  # a test that is named twice runs twice

    def are_in(self, session: pytest.Session) -> bool:
        """Whether any is selected."""
        return any(OWN in item.stash for item in session.items)

    def cases(self, session: pytest.Session) -> OwnCases | None:
        """Those of the selected tests. None where there are none, and where the run folder cannot be written."""
        if self._cases is None and self.are_in(session) and (started := self._worker.started(session)):
            runner, background = started
            found = {case.task.name: case for item in session.items if (case := item.stash.get(OWN, None))}
            outside = planned_outside(found[max(found)], self._worker.worker.number)  # with tools if any test has them
            self._cases = OwnCases(runner, background.call, session.config.rootpath, outside)
        return self._cases

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if case_of(item):
            self.cases(item.session)
        if OWN not in item.stash:
            return (yield)
        finished = self._worker.finished_before(item)
        if finished is not None and finished.status == "passed":
            before = "in the resumed run" if self._worker.settings.resume else "before its worker died"
            item.add_marker(pytest.mark.skip(reason=f"it passed {before}"))
            item.user_properties.append(KEPT)
        self._running, self._reports = item, []
        try:
            done = yield
            self._store(item)
        finally:  # Ctrl-C and pytest.exit leave no record
            self._running = item.stash[RUNNING] = None
            if self._cases:
                self._cases.drop()
        return done

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin a test, or a further attempt at it, after pytest has decided not to skip it."""
        if OWN in item.stash:
            if (cases := self._cases) is None:
                pytest.fail(self._worker.problem, pytrace=False)
            finished = self._worker.finished_before(item)
            if finished is not None and finished.status == "broken":  # it has killed its process
                pytest.fail(str(finished.read().error), pytrace=False)
            self._began, self._faults = time.monotonic(), []
            item.stash[RUNNING] = cases.open(item.stash[OWN])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """What a fixture of several tests asks, when it is set up and when it is torn down, belongs to the run."""
        cases = self._cases
        if cases is None or fixturedef.scope == "function":
            return (yield)
        fixturedef.addfinalizer(cases.return_to_test)  # finalizers run in reverse order
        try:
            with cases.outside():
                return (yield)
        finally:
            fixturedef.addfinalizer(cases.leave_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if item is not self._running or call.excinfo is None:
            return report
        if fault := _fault_in(call.excinfo.value):
            self._faults.append(fault)
        noted = self._cases.test.fault if self._cases and self._cases.test else None
        if fault is None and noted and report.failed and str(noted) not in report.longreprtext:
            report.sections.append(("model_endpoint", str(noted)))  # which the agent's own error does not say
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Runs after every plugin has had its say on a report; subtests have reports of their own."""
        if self._running is None or report.nodeid != self._running.nodeid:
            return
        if str(report.outcome) == "rerun":  # pytest-rerunfailures tries again
            self._reports = []
        else:
            self._reports.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Runs before the worker's hook, which closes the connections."""
        if self._cases:
            self._cases.end()

    def _store(self, item: pytest.Item) -> None:
        cases, planned = self._cases, item.stash[OWN]
        ended = how_it_ended(self._reports)
        if cases is None or cases.test is None or ended is None:
            return
        if ended.is_red:
            self._failed.add(planned.id)
        elif planned.id in self._failed:
            return
        faults = [*self._faults, *([cases.test.fault] if cases.test.fault else [])] if ended.is_red else []
        fault = faults[0] if faults else None
        if fault is None and ended.error_in:
            fault = Fault(ended.explanation, cause=f"error in {ended.error_in}")
        output: Json = {"passed": not ended.is_red, "explanation": ended.explanation, "labels": list(ended.labels)}
        try:
            cases.close(None if fault else output, fault, time.monotonic() - self._began)
        except OSError as error:
            item.session.shouldstop = cannot_write(self._worker.folder.path, error)
        if problem := self._worker.problem:  # there was room for this record, and there is none for another
            item.session.shouldstop = problem


@dataclass(frozen=True, slots=True)
class Ended:
    """How pytest says that a test ended."""

    is_red: bool  # pytest counts it as failed or as an error
    explanation: str = ""
    labels: tuple[str, ...] = ()
    error_in: str = ""  # "setup" or "teardown" where pytest counts an error and no failure


def how_it_ended(reports: list[pytest.TestReport]) -> Ended | None:
    """From the reports of one attempt at a test. None for a test that pytest has skipped, or not run to its end."""
    main = next((report for report in reversed(reports) if report.when == "call"), reports[0] if reports else None)
    if failed := [report for report in reports if report.failed]:
        called = [report for report in failed if report.when == "call"]
        error_in = "" if called else str(failed[0].when)
        return Ended(True, _explanation((called or failed)[0]), error_in=error_in)
    if main is None or (main.when == "setup" and main.passed):
        return None
    if hasattr(main, "wasxfail"):
        return Ended(False, _explanation(main), labels=("xfailed" if main.skipped else "xpassed",))
    return None if main.skipped else Ended(False)


def _explanation(report: pytest.TestReport) -> str:
    """The first line of what pytest says went wrong, behind the place in the code where it does."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash else report.longrepr or "").strip().splitlines()
    errors = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")]
    place = f"{Path(crash.path).name}:{crash.lineno}: " if crash else ""
    return place + (errors or lines or [""])[0]


def _fault_in(error: BaseException) -> Fault | None:
    """The fault of ours that an exception is, holds, or was raised because of."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Fault):
            return one
        waiting += [*(one.exceptions if isinstance(one, BaseExceptionGroup) else ()), one.__cause__]
        waiting += [] if one.__suppress_context__ else [one.__context__]
    return None
