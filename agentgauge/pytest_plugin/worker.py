"""Runs cases in a process of pytest; in the driver of a launch, whose cases run elsewhere, reports them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from agentgauge.core.announcement import NAME, package_of, plugins
from agentgauge.core.files import cannot_write
from agentgauge.core.redaction import redact
from agentgauge.core.types import Record
from agentgauge.pytest_plugin.collection import Collection, case_of
from agentgauge.pytest_plugin.fixtures import BrokenCase, Outcome
from agentgauge.pytest_plugin.keys import DRIVER, HOOKS, NOTES, OF_THE_TEST, OUTCOME, OWN, PLANNED
from agentgauge.run.coordination.stopping import LONGEST_WAIT, Interrupts, running_work
from agentgauge.run.crashes import Suspects
from agentgauge.run.hooks import Hooks
from agentgauge.run.part import Place
from agentgauge.run.planned import OWN as OWN_OBJECTS
from agentgauge.run.planned import Given, Planned
from agentgauge.run.runner import STOP_SECONDS, Background, Runner
from agentgauge.run.settings import Settings
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId

if TYPE_CHECKING:
    from agentgauge.run.launch.remote_cases import RemoteCases
    from agentgauge.store.jsonl import CaseId


# -- The driver of a launch: what it takes from pytest's own command line, and the order of its tests.


PASSED_ON = ("ignore", "ignore_glob", "override_ini", "confcutdir", "import_mode", "pythonwarnings")
"""Options of pytest that change what a node collects, by their names with ``_``."""


def node_arguments(config: pytest.Config) -> list[str]:
    """Arguments of the pytest processes on nodes: pytest's own options that matter there, and the paths."""
    option = config.option
    given = {name: getattr(option, name.replace("import_mode", "importmode")) or () for name in PASSED_ON}
    listed = {name: [values] if isinstance(values, str) else values for name, values in given.items()}
    named = [f"--{name.replace('_', '-')}={value}" for name, values in listed.items() for value in values]
    named += ["--override-ini=addopts=", *(word for plugin in option.plugins or () for word in ("-p", plugin))]
    named += [f"--config-file={config.inipath}"] if option.inifilename else []
    return [*named, *["--noconftest"] * option.noconftest, *["--pyargs"] * option.pyargs, *config.args]


def as_they_end(items: Sequence[pytest.Item], cases: RemoteCases) -> Iterator[pytest.Item]:
    """First the tests that wait for no shard, then those of cases in the order in which the cases end: a shard has
    cases from all over the plan, so pytest's own order would wait for the last shard almost from the start."""
    waiting: dict[CaseId, list[pytest.Item]] = {}
    for item in items:
        planned = item.stash.get(PLANNED, None)
        if planned and cases.is_submitted(planned):
            waiting.setdefault(planned.id, []).append(item)
        else:
            yield item
    while waiting and (done := cases.next_done(waiting)):
        yield from waiting.pop(done)
    for left in waiting.values():
        yield from left


def run_as_they_end(session: pytest.Session, cases: RemoteCases) -> None:
    """Pytest's loop over the tests. A test is reported when it is known which one is next, because that says which
    fixtures stay. Raises what pytest's own loop raises when the run is to stop."""
    items = as_they_end(session.items, cases)
    item = next(items, None)
    while item:
        following = next(items, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following


# -- Which cases can be started with the objects that a test gives to ``solve``.


class Group(NamedTuple):
    """The cases of a test function: what their tests give to ``solve`` is the same."""

    function: str
    gives_own: bool  # the run's own model and tools, as is known before any of them runs


@cache
def _packages_of_ours() -> frozenset[str]:
    """The packages with tests that give their fixtures to ``solve``: AgentGauge, and the benchmarks of its release."""
    ours = (package_of(plugin) for plugin in plugins() if plugin.dist is None or plugin.dist.name == NAME)
    return frozenset({NAME, *ours})


def group_of_case(item: pytest.Item) -> Group:
    """pytest has no public way to say which fixture a test will get."""
    known = getattr(item, "_fixtureinfo", None)
    found = known.name2fixturedefs if known else {}
    last = {name: found[name][-1].func.__module__ for name in ("model", "tools", "solve", "outcome") if name in found}
    is_ours = {name: module.partition(".")[0] == NAME for name, module in last.items()}
    takes_outcome = is_ours.pop("outcome", False)
    package = getattr(item, "function", item).__module__.partition(".")[0]
    gives_fixtures = package in _packages_of_ours() and all(is_ours.values())
    function = f"{item.parent.nodeid if item.parent else ''}::{getattr(item, 'originalname', item.name)}"
    return Group(function, takes_outcome or gives_fixtures)


def _shown(given: Given) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in given.noted.items()) or "the run's own model and tools"


class WrongAnswer(AssertionError, pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """The model's answer is wrong: the case fails. Shown as its text alone."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, message, pytrace=False)


def is_verdict(error: BaseException, outcome: Outcome) -> bool:
    """Whether a test has failed because its answer is wrong, and for no reason of its own: it asserts
    ``outcome.passed``, with the explanation or without."""
    text, explanation = (" ".join(words.split()) for words in (str(error), outcome.explanation))  # pytest indents lines
    says_so = text.startswith(explanation) or f"where False = {outcome!r}.passed" in text
    return isinstance(error, AssertionError) and not outcome.passed and says_so


UNSOLVED = "their tests ended without solving them"
"""Why cases are missing whose tests have run, and have not come to ``solve``."""


# -- The worker, which runs cases: in every xdist worker, and in the one process of a serial run.


MARGIN = 10.0
"""Seconds that cases which are abandoned after LONGEST_WAIT get to be stored."""

QUIET_SECONDS = 1.0
"""How long no worker may report a running case before all count as done: each reports a moment after the stop."""


class Worker:
    """Hands cases to a runner in the background, and their results to pytest."""

    def __init__(self, config: pytest.Config, settings: Settings, worker: Place, collection: Collection) -> None:
        self.config = config
        self.settings = settings
        self.worker = worker
        self.folder = RunFolder(settings.run_dir)
        self.collection = collection
        self._runner: Runner | None = None
        self._background: Background | None = None
        self._cases: Background | RemoteCases | None = None  # those that run here, or elsewhere
        self._asked: dict[CaseId, Line] = {}  # the last answer, right or wrong: a rerun of its test gets it too
        self._started = time.time()
        self._problem = ""  # why no case can be started: the run folder cannot be written
        self._problem_reported = False
        self._suspects: set[str] = set()  # tests that run alone: while there are some, no case is started ahead
        self._coming: dict[Group, dict[CaseId, Planned]] = {}  # cases that have not been started ahead
        self._given: dict[Group, Given] = {}  # what their tests give to ``solve``
        self._interrupts = Interrupts()

    def result(self, item: pytest.Item, given: Given) -> Line | Record:
        """The result of a case. Fails if its record could not be stored. ``given``: the objects that its test gives."""
        planned = item.stash[PLANNED]
        self._start_ahead(item, given)
        try:
            result = self._asked.get(planned.id) or self._result(planned, given)
            self._asked = {planned.id: result} if isinstance(result, Line) and result.finished else {}
        except pytest.fail.Exception as failed:  # pytest-timeout's: where it waited says nothing
            raise pytest.fail.Exception(str(failed), pytrace=False) from None
        except OSError as error:
            self._problem = self._problem or cannot_write(self.folder.path, error)
            result = None
        item.user_properties.append(("agentgauge.status", result.status if result else "broken"))
        item.user_properties.append(("agentgauge.task", planned.task.name))
        if isinstance(result, Line):
            item.user_properties += [("agentgauge.tokens", result.tokens), ("agentgauge.usd", result.usd)]
            if result.at >= self._started:  # else an earlier run has finished it
                item.user_properties.append(("agentgauge.seconds", result.seconds))
        elif result and result.status == "missing":
            item.user_properties.append(("agentgauge.missing", result.error))
        if problem := self.problem:
            item.user_properties.append(("agentgauge.stop", problem))
            self._problem_reported = True
            if result is None:
                raise BrokenCase(f"{problem}; continue with --resume={self.folder.path}")
        assert result is not None
        return result

    def started(self, session: pytest.Session) -> tuple[Runner, Background] | None:
        """What runs cases here, for tests that pytest runs itself. None where the run folder cannot be written."""
        self._start_cases(session)
        return (self._runner, self._background) if self._runner and self._background else None

    def finished_before(self, item: pytest.Item) -> Line | None:
        """The finished record that an earlier session of the run has left of a project's own test."""
        return self._runner.finished.get(item.stash[OWN].id) if self._runner else None

    @property
    def problem(self) -> str:
        """Why no case can be started; empty if cases can."""
        return self._problem or (self._runner.problem if self._runner else "")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests of a launch as its cases end: for another order than that of the collection, pytest has this
        hook alone. Other runs are left to its own loop."""
        found_all = not session.testsfailed or session.config.option.continue_on_collection_errors
        if DRIVER not in self.config.stash or not found_all:
            return None
        self._start_cases(session)
        if self._cases is None:
            return None

        run_as_they_end(session, cast("RemoteCases", self._cases))
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if case_of(item):
            self._start_cases(item.session)
        done = yield
        if item.nodeid in self._suspects:
            self._suspects.discard(item.nodeid)
            self._submit([])
        self._stop_if_asked(item.session)
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._interrupts.is_ending = True
        for cases in dict.fromkeys((self._cases, self._background)):
            if cases:
                cases.close()
        if self.worker.dist != "no":
            output = self.config.workeroutput  # type: ignore[attr-defined]
            output[NOTES] = [*output.get(NOTES, ()), *self.config.stash[HOOKS].failures.sentences()]

    @pytest.hookimpl(wrapper=True, trylast=True)  # allure-pytest and others read the report once it is redacted
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.excinfo and (outcome := item.stash.get(OUTCOME, None)) and is_verdict(call.excinfo.value, outcome):
            # the explanation alone, without a traceback and without what pytest found out about ``outcome.passed``
            wrong = WrongAnswer(outcome.explanation).with_traceback(call.excinfo.tb)
            call.excinfo = pytest.ExceptionInfo.from_exception(wrong)
        report = yield
        error = call.excinfo and call.excinfo.value
        if report.failed and isinstance(error, BrokenCase):
            report.when = "setup"  # pytest calls it an error, and no failure
        elif report.failed and PLANNED in item.stash and not isinstance(error, WrongAnswer):
            report.user_properties.append(OF_THE_TEST)
        if call.when == "teardown" and PLANNED in item.stash:
            if not any(name == "agentgauge.status" for name, _ in item.user_properties):
                report.user_properties.append(("agentgauge.missing", UNSOLVED))
            item.user_properties.clear()  # the reports have copies, and pytest keeps every item to the end
            item.stash[OUTCOME] = None
        _redact(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self) -> Generator[None]:
        """Drop the reports that the terminal of an xdist worker keeps, because nothing reads them. No hook of pytest or
        xdist keeps it from that."""
        yield
        terminal: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.worker.dist != "no" and terminal is not None:
            for reports in terminal.stats.values():
                reports.clear()

    def _start_cases(self, session: pytest.Session) -> None:
        """Once, before the first case."""
        if self._background is None and not self._problem:
            try:
                self._start(session)
            except OSError as error:
                self._problem = cannot_write(self.folder.path, error)

    def _start(self, session: pytest.Session) -> None:
        queue, users = self.collection.queue(session.items)
        tasks = {case.task.name for item in session.items if (case := case_of(item))}
        if self.worker.dist != "no":  # otherwise the controller, in the same process, has done it
            self._interrupts.handle(signal.SIGINT, add_cleanup=self.config.add_cleanup)
        self._runner = Runner(self.settings, tasks, self.worker, users, self._hooks_by_case(session))
        driver = self.config.stash.get(DRIVER, None)
        self._background = Background(self._runner)
        self._cases = driver.cases(self._runner) if driver else self._background
        self._suspects = set() if driver else Suspects.read(self.folder.path).names
        if self._suspects:
            cases = ((item, case_of(item)) for item in session.items)
            self._runner.suspects = {case.id for item, case in cases if case and item.nodeid in self._suspects}
        self._submit(queue)

    def _hooks_by_case(self, session: pytest.Session) -> Callable[[CaseId], Hooks | None]:
        """Which hooks a case has: a conftest.py sees only the tests below its folder. Tests that lie elsewhere, of
        installed packages, count as tests in the project's own folder."""
        hooks = self.config.stash[HOOKS]
        if not hooks.see_cases:
            return lambda _: None
        root = self.config.rootpath
        places = {case.id: item.path.parent for item in session.items if (case := case_of(item))}
        folders = {case: place if place.is_relative_to(root) else root for case, place in places.items()}

        @cache
        def of_folder(folder: Path) -> Hooks | None:
            found = Hooks(session.gethookproxy(folder), hooks.failures)
            return found if found.see_cases else None

        return lambda case: of_folder(folders.get(case, root))

    def _submit(self, items: Sequence[pytest.Item]) -> None:
        """Note cases that may be started before pytest reaches them."""
        assert self._runner is not None
        for item in items:
            if (case := item.stash.get(PLANNED, None)) and case.id not in self._runner.finished:
                self._coming.setdefault(group_of_case(item), {})[case.id] = case
        if items:
            self._suspects &= {item.nodeid for item in items}
        self._release()

    def _release(self) -> None:
        """Start cases of which it is known what their tests give; not before the suspects of this worker are
        through. Elsewhere, pytest finds out what they give there."""
        assert self._cases is not None
        for group in () if self._suspects else list(self._coming):
            if group in self._given or self._cases is not self._background:
                self._cases.submit(self._coming.pop(group).values(), self._given.get(group, OWN_OBJECTS))

    def _start_ahead(self, item: pytest.Item, given: Given) -> None:
        """A test has given its objects to ``solve``: start the other cases of its function with the same, and all of
        which it is known that they get the run's own. Fails where the test gives other objects than those that its case
        was started with."""
        if self._cases is None:
            return
        group = group_of_case(item)
        if (known := self._given.setdefault(group, given)) != given and self._cases is self._background:
            pytest.fail(
                f"solve got {_shown(given)}, and {group.function} gave {_shown(known)} before, with which its cases"
                " were started ahead; let one session-scoped fixture model or tools, in a conftest.py or the test's"
                " module, return what these tests give",
                pytrace=False,
            )
        self._given |= {other: OWN_OBJECTS for other in self._coming if other.gives_own}
        self._release()

    def _result(self, planned: Planned, given: Given) -> Line | Record | None:
        """None where no case could be started. Raises OSError where the case could not be stored."""
        if self._runner is None or self._cases is None:
            return None
        for cases in self._coming.values():
            cases.pop(planned.id, None)
        finished = self._runner.finished.pop(planned.id, None)
        if finished and finished.given() == given.noted:  # else an earlier session has solved it with other objects
            return finished
        return self._cases.result(planned, given)

    def _stop_if_asked(self, session: pytest.Session) -> None:
        if self._runner is None or self._cases is None:
            if self._problem_reported:
                session.shouldstop = self._problem
            return
        if not (session.shouldstop or session.shouldfail):  # for both pytest would say the same twice
            if self._problem_reported:
                session.shouldstop = self._problem or self._runner.problem
            elif self._runner.is_stopped() and not self._runner.problem:
                self._await_running()
                session.shouldstop = self._runner.stop_file.reason()
        if session.shouldstop or session.shouldfail:
            self._cases.hold()

    def _await_running(self) -> None:
        """Wait for requests that are paid for, here and in the other workers: xdist ends all workers some seconds after
        the first one."""
        assert self._runner is not None and self._cases is not None
        if not self._runner.stop_file.awaits():
            return
        self._cases.hold()
        end, quiet = time.monotonic() + LONGEST_WAIT + MARGIN, 0.0
        alone = self.worker.count == 1
        while time.monotonic() < end:
            if not (self._cases.is_idle() and (alone or not running_work(self.folder.path).cases)):
                quiet = 0.0
            elif alone or (quiet and time.monotonic() - quiet > QUIET_SECONDS):
                return
            else:
                quiet = quiet or time.monotonic()
            time.sleep(STOP_SECONDS)


def _redact(report: pytest.TestReport) -> None:
    """A traceback may show variables, and captured output what libraries print."""
    report.sections = [(title, redact(text)) for title, text in report.sections]
    shown = str(report.longrepr or "")
    if (clean := redact(shown)) != shown:
        report.longrepr = clean
