"""``--alluredir`` in a run of benchmarks: their cases' results are written from the records, once, when the run is
summed up.

allure-pytest measures tests while pytest runs them, but a benchmark case was solved before pytest reached it. So of
its results of such cases, only what the project's own code says is kept, in the run's folder (``agentgauge_reports.
allure.own``), and ``agentgauge_reports.allure.results`` writes the results from there and from the records, as
``agentgauge report --allure`` does. Results of ordinary tests are allure-pytest's own.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import allure
import allure_commons
import attr
import pytest
from agentgauge_reports.allure.content import steps
from agentgauge_reports.allure.identity import allure_id
from agentgauge_reports.allure.results import write_run
from agentgauge_reports.case_text import transcript
from agentgauge_reports.load import Omitted
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import Label, Link, Parameter, TestResult, TestResultContainer
from allure_commons.types import LabelType
from allure_pytest.utils import allure_labels, allure_links, format_allure_link, pytest_markers

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import write_whole
from agentgauge.core.redaction import redact
from agentgauge.pytest_plugin.keys import NOTES, OWN, PLANNED, RUNNING
from agentgauge.run.run import Run
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder

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
            write_run(run.folder, self._folder, tell, tasks=run.settings.tasks, omitted=omitted, is_live=True)
        except UsageProblem as problem:
            run.problems.append(str(problem))
        run.notes += omitted.sentences("the Allure results")


class AllureIds:
    """Gives each case its id, by which a test plan or ``--allure-ids`` selects it."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Runs before allure-pytest selects."""
        for item in items:
            if planned := item.stash.get(PLANNED, None):
                item.add_marker(pytest.mark.allure_label(allure_id(planned.id), label_type=LabelType.ID))


class AllureOwn:
    """Keeps what the project's code says about cases. Registered where cases run and ``--alluredir`` is given."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self._own = RunFolder(settings.run_dir).own_allure
        self._model = settings.tested
        self._writer: _Writer | None = None

    def pytest_sessionstart(self) -> None:
        """Replace allure-pytest's writer, which is registered by now, by ours."""
        for writer in allure_commons.plugin_manager.get_plugins():
            if isinstance(writer, AllureFileLogger):
                allure_commons.plugin_manager.unregister(writer)
                self._writer = _Writer(self.config.getoption("allure_report_dir"), self._own)
                allure_commons.plugin_manager.register(self._writer)
                self.config.add_cleanup(partial(_restore, writer, self._writer))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """allure-pytest writes the test's result at the end of its protocol, even if Ctrl-C came before its setup."""
        if self._writer:
            self._writer.begin(item)
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
        if not (self._writer and (result := self._result())):
            return
        if PLANNED in item.stash:
            self._writer.ids[result.uuid] = allure_id(item.stash[PLANNED].id)
        elif OWN in item.stash:  # a test of the project that asks the model
            result.parameters.append(Parameter("model", self._model))
            result.labels.append(Label("model", self._model))

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Note what the project has said of a case, before allure-pytest adds labels of its own."""
        try:
            yield
        finally:
            if self._writer and PLANNED in item.stash and (result := self._result()):
                self._writer.said = _said(self.config, item, result) | self._writer.said

    def pytest_sessionfinish(self) -> None:
        """Note for the end of the run that something could not be kept."""
        if self._writer and (lost := self._writer.lost):
            controller = self.config.pluginmanager.get_plugin("agentgauge-controller")  # None in xdist's workers
            output: dict[str, Any] = {} if controller else self.config.workeroutput  # type: ignore[attr-defined]
            notes = controller.run.notes if controller else output.setdefault(NOTES, [])
            notes.append(f"Allure's results lack some of what your code says about cases: {lost}")

    def _result(self) -> Any:
        """allure-pytest's result of the running test."""
        listener: Any = self.config.pluginmanager.get_plugin("allure_listener")
        return listener and listener.allure_logger.get_test(None)


def _said(config: pytest.Config, item: pytest.Item, result: Any) -> dict[str, Any]:
    """Marks, and what ``allure.dynamic`` has said, without what allure-pytest takes from the test itself."""
    tags = {*pytest_markers(item)} - {*item.listextrakeywords()} - {item.stash[PLANNED].task.name.replace(".", "_")}
    links = [Link(kind, format_allure_link(config, url, kind), name or url) for kind, url, name in allure_links(item)]
    marked = {_plain(label) for label in allure_labels(item)} - {(LabelType.ID, allure_id(item.stash[PLANNED].id))}
    docstring = getattr(getattr(item, "function", None), "__doc__", None)
    said = {
        "labels": [*result.labels, *(Label(name, value) for name, value in sorted(marked))]
        + [Label(LabelType.TAG, tag) for tag in sorted(tags)],
        "links": [*result.links, *links],
        "parameters": [one for one in result.parameters if one.name not in getattr(item, "callspec", _NONE).params],
        "descriptionHtml": result.descriptionHtml,
    }
    if result.description != docstring:
        said["description"] = result.description
    if result.name != item.name:
        said["name"] = result.name
    return {name: value for name, value in said.items() if value}


def _plain(label: tuple[str, Any]) -> tuple[str, str]:
    """A label's name and value; that of a severity may be a member of an enumeration."""
    return label[0], str(getattr(label[1], "value", label[1]))


_NONE = SimpleNamespace(params={})


def _restore(writer: AllureFileLogger, ours: _Writer) -> None:
    """allure-pytest takes its writer away itself when pytest ends, and wants to find it."""
    allure_commons.plugin_manager.unregister(ours)
    allure_commons.plugin_manager.register(writer)


class _Writer(AllureFileLogger):
    """Writes what ordinary tests leave. What the project says of cases lies in the run's folder."""

    def __init__(self, folder: str, own: Path) -> None:
        super().__init__(folder)  # type: ignore[no-untyped-call]
        self._folders = (self._report_dir, own)
        self.ids: dict[str, str] = {}  # allure-pytest's id of a case's result → that of the case
        self.said: dict[str, Any] = {}  # of the running case
        self.lost = ""  # why something of the project's could not be kept
        self._runs_case = False

    def begin(self, item: pytest.Item) -> None:
        """A test begins."""
        self._runs_case = PLANNED in item.stash
        self.said = {}

    @allure_commons.hookimpl
    def add_title(self, test_title: str) -> None:
        """In a fixture; allure-pytest replaces it by the test's name when the test is set up."""
        self.said["name"] = test_title

    @allure_commons.hookimpl
    def add_description(self, test_description: str) -> None:
        self.said["description"] = test_description

    @allure_commons.hookimpl
    def add_description_html(self, test_description_html: str) -> None:
        self.said["descriptionHtml"] = test_description_html

    @allure_commons.hookimpl
    def report_result(self, result: Any) -> None:
        if not self._runs_case:
            super().report_result(result)  # type: ignore[no-untyped-call]
            return
        own = TestResult(steps=result.steps, attachments=result.attachments, **self.said)
        if result.uuid in self.ids and (own.steps or own.attachments or self.said):
            self._keep(f"{self.ids[result.uuid]}-result.json", own)

    @allure_commons.hookimpl
    def report_container(self, container: Any) -> None:
        """The fixtures of cases, as far as they have done something that Allure shows, and those of ordinary tests.
        Both may share one."""
        cases = [self.ids[child] for child in container.children if child in self.ids]
        ordinary = [child for child in container.children if child not in self.ids]
        used = {key: [one for one in getattr(container, key) if one.steps or one.attachments] for key in _FIXTURES}
        if cases and any(used.values()):
            own = TestResultContainer(uuid=container.uuid, children=cases, **used)
            self._keep(f"{container.uuid}-container.json", own)
        if ordinary:
            container.children = ordinary
            super().report_container(container)  # type: ignore[no-untyped-call]

    @allure_commons.hookimpl
    def report_attached_file(self, source: str, file_name: str) -> None:
        with self._in_place():
            super().report_attached_file(source, file_name)  # type: ignore[no-untyped-call]

    @allure_commons.hookimpl
    def report_attached_data(self, body: str | bytes, file_name: str) -> None:
        with self._in_place():
            text = redact(body) if self._runs_case and isinstance(body, str) else body
            super().report_attached_data(text, file_name)  # type: ignore[no-untyped-call]

    @contextmanager
    def _in_place(self) -> Generator[None]:
        """Where an attachment lies."""
        self._report_dir = self._folders[self._runs_case]
        try:
            self._report_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield
        finally:
            self._report_dir = self._folders[0]

    def _keep(self, name: str, item: Any) -> None:
        data = attr.asdict(item, filter=lambda _, value: bool(value) or value is False)
        text = redact(json.dumps(data, ensure_ascii=False, default=str)).encode("utf-8", "replace")
        own = self._folders[1]
        try:
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(own / name, text)
        except OSError as error:
            self.lost = self.lost or f"{error.filename or own} cannot be written ({error.strerror or error})"


_FIXTURES = ("befores", "afters")
