"""``--alluredir`` in a run of benchmarks: their cases' results are written from the records, once, when the run is
summed up.

allure-pytest measures tests while pytest runs them, but a benchmark case was solved before pytest reached it. So its
results of such cases are dropped, and ``agentgauge_reports.allure.results`` writes them from the records, as
``agentgauge report --allure`` does. Results of ordinary tests are allure-pytest's own.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import allure
import allure_commons
import pytest
from agentgauge_reports.allure.content import steps, transcript
from agentgauge_reports.allure.results import write_run
from agentgauge_reports.load import Omitted
from allure_commons.logger import AllureFileLogger

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import redact
from agentgauge.pytest_plugin.keys import PLANNED, RUNNING
from agentgauge.run.run import Run

STEPS, TEXT = 50_000, 500_000
"""Bytes of the steps and of the transcript that a result of an own test gets."""


class AllureResults:
    """Writes the results of the cases. Registered in pytest's first process, where ``--alluredir`` is given."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_agentgauge_report(self, run: Run) -> None:
        omitted = Omitted()
        tell = partial(run.hooks.tell_now, "pytest_agentgauge_allure_result")
        try:
            write_run(run.folder, self._folder, tell, tasks=run.settings.tasks, omitted=omitted, own_tests=False)
        except UsageProblem as problem:
            run.problems.append(str(problem))
        run.notes += omitted.sentences("the Allure results")


class AllureFilter:
    """Drops allure-pytest's results of benchmark cases. Registered where cases run and ``--alluredir`` is given."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._ours: set[str] = set()  # ids of results of benchmark cases
        self._writer: _Writer | None = None

    def pytest_sessionstart(self) -> None:
        """Replace allure-pytest's writer, which is registered by now, by a filtered one."""
        for writer in allure_commons.plugin_manager.get_plugins():
            if isinstance(writer, AllureFileLogger):
                allure_commons.plugin_manager.unregister(writer)
                self._writer = _Writer(self.config.getoption("allure_report_dir"), self._ours)
                allure_commons.plugin_manager.register(self._writer)
                self.config.add_cleanup(partial(_restore, writer, self._writer))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """allure-pytest writes the test's result at the end of its protocol, even if Ctrl-C came before its setup."""
        if self._writer:
            self._writer.runs_case = PLANNED in item.stash
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Add the messages of the model and the tools as steps to the result of a project's own test."""
        try:
            yield
        finally:
            running = item.stash.get(RUNNING, None)
            if running and running.case and (events := running.case.events):
                for step in steps(events, STEPS):
                    with allure.step(redact(step["name"])):
                        pass
                allure.attach(redact(transcript(events, TEXT)), "transcript", allure.attachment_type.TEXT)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note the result of a benchmark case, after allure-pytest has begun it."""
        listener: Any = self.config.pluginmanager.get_plugin("allure_listener")
        if PLANNED in item.stash and listener:
            self._ours.add(listener.allure_logger.get_test(None).uuid)


def _restore(writer: AllureFileLogger, filtered: _Writer) -> None:
    """allure-pytest takes its writer away itself when pytest ends, and wants to find it."""
    allure_commons.plugin_manager.unregister(filtered)
    allure_commons.plugin_manager.register(writer)


class _Writer(AllureFileLogger):
    """Writes what ordinary tests leave."""

    def __init__(self, folder: str, ours: set[str]) -> None:
        super().__init__(folder)  # type: ignore[no-untyped-call]
        self._ours = ours
        self.runs_case = False  # the running test is a benchmark case

    @allure_commons.hookimpl
    def report_result(self, result: Any) -> None:
        if not self.runs_case:
            super().report_result(result)  # type: ignore[no-untyped-call]

    @allure_commons.hookimpl
    def report_container(self, container: Any) -> None:
        """The fixtures of cases; those of ordinary tests, which may share one, are kept."""
        container.children = [child for child in container.children if child not in self._ours]
        if container.children:
            super().report_container(container)  # type: ignore[no-untyped-call]
