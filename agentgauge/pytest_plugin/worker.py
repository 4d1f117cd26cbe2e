"""The side of the plugin that runs cases: in every xdist worker, and in the one process of a serial run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgauge.core.atomic_write import DISK_FULL, cannot_write
from agentgauge.core.case import CaseSettings
from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.redaction import redact
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge.core.types import Record
from agentgauge.pytest_plugin.options import Settings, config_fingerprint
from agentgauge.pytest_plugin.outcome import BrokenCase, Outcome
from agentgauge.run.factories import Wiring
from agentgauge.run.partition import GROUPS, MODES, deal, group_of
from agentgauge.run.prefetcher import LookAhead
from agentgauge.run.slots import FILE as PLACES
from agentgauge.run.slots import Places
from agentgauge.run.solve import Planned, Solver
from agentgauge.run.waiting_requests import OLD, WaitingRequests
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId

PLANNED = pytest.StashKey[Planned]()
IDLE = pytest.StashKey[Callable[[], None]]()
"""Called now and then while pytest's thread waits for a case."""
STOP_FILE = "stop"
"""Appears in the run folder when the controller wants every worker to stop; holds the reason."""
STALE = 0.005
"""Seconds after which a worker looks for it again."""

UNWRITABLE = (RecursionError, TypeError, ValueError)
"""What JSON of a value raises that is none."""


@dataclass(frozen=True)
class Place:
    """Which worker this is."""

    name: str = "main"  # "gw3"
    number: int = 0
    count: int = 1
    dist: str = "no"  # --dist, as the controller has it
    is_replacement: bool = (
        False  # it came later, for a worker that died, whose number it has: its queue follows from no rule
    )


class _Lot(NamedTuple):
    share: Sequence[pytest.Item]  # what this worker is to run, in order
    users: Sequence[int]  # workers that have cases at all, by number: these share the places


class WorkerSide:
    def __init__(self, config: pytest.Config, settings: Settings, place: Place) -> None:
        self.config = config
        self.settings = settings
        self.place = place
        self.folder = RunFolder(settings.run_dir)
        self._stop_file = str(self.folder.path / STOP_FILE)
        self._saw_stop = False
        self._looked = 0.0  # time.monotonic()
        self._indices: dict[str, Index] = {}
        self._lookahead: LookAhead | None = None
        self._done: dict[CaseId, Line] = {}
        self._problem = ""  # why nothing new may be started in this worker: something cannot be written
        self._told_problem = False  # whether a report of a case says so
        self._lot: _Lot | None = None
        self._sees_all = False  # a replacement, its whole queue

    # -- collection

    def rows(self, task: Task) -> tuple[Index, Sequence[Row]]:
        """A task's samples after ``--limit``."""
        index = self._indices.get(task.name)
        if index is None:
            index = self._indices[task.name] = task.data.index(self.settings.roots[task.name])
        return index, spread(index.rows, self.settings.limit)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        marker = metafunc.definition.get_closest_marker("benchmark_task")
        if marker is None:
            return
        task = find_task(marker.args[0])
        if task.name not in self.settings.roots:  # --data names a folder that holds other data sets only
            metafunc.parametrize("sample", [])
            return
        _, rows = self.rows(task)
        ids = [case_name(row.id, attempt) for row in rows for attempt in range(1, self.settings.attempts + 1)]
        metafunc.parametrize("sample", ids, ids=ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Give every case its keywords before ``-k`` and ``-m`` are applied, and keep to the plan of an earlier run."""
        self._plan_items(items)
        if earlier := self._earlier_plan():
            outside = [item for item in items if PLANNED in item.stash and item.stash[PLANNED].id not in earlier]
            if outside:
                items[:] = [item for item in items if PLANNED not in item.stash or item.stash[PLANNED].id in earlier]
                self.config.hook.pytest_deselected(items=outside)

    def _earlier_plan(self) -> dict[CaseId, str]:
        """What the run set out to do that is resumed or scored again; empty for a new run."""
        if self.settings.resume:
            return self.folder.plan() if self.folder.has_plan else {}
        return RunFolder(self.settings.rescore).plan() if self.settings.rescore else {}

    def _plan_items(self, items: list[pytest.Item]) -> None:
        by_task: dict[str, dict[str, Planned]] = {}
        marks: set[str] = set()
        named = set(re.split(r"[\s()]+", self.config.option.markexpr or ""))
        task_of: dict[
            tuple[pytest.Item | pytest.Collector | None, str | None], str | None
        ] = {}  # test function → what it is marked with
        for item in items:
            function = (item.parent, getattr(item, "originalname", None))
            if function not in task_of:
                marker = item.get_closest_marker("benchmark_task")
                task_of[function] = None if marker is None else marker.args[0]
            name = task_of[function]
            if name not in self.settings.roots or not hasattr(item, "callspec") or "sample" not in item.callspec.params:
                continue
            assert name is not None
            if name not in by_task:
                task = find_task(name)
                index, rows = self.rows(task)
                attempts = range(1, self.settings.attempts + 1)
                by_task[name] = {
                    case_name(row.id, attempt): Planned(task, index, row, attempt)
                    for row in rows
                    for attempt in attempts
                }
            planned = by_task[name].get(item.callspec.params["sample"])
            if planned is None:
                continue
            item.stash[PLANNED] = planned
            item.extra_keyword_matches.update(planned.row.tags)
            for tag in planned.row.tags:
                if tag in named:  # marks for every tag double the cost of collection
                    if tag not in marks:
                        marks.add(tag)
                        self.config.addinivalue_line("markers", f"{tag}: keyword of a benchmark sample")
                    item.add_marker(tag)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None]:
        """Write the plan down: under xdist the controller collects nothing and reads it there."""
        cases = {item.stash[PLANNED].id: item.nodeid for item in session.items if PLANNED in item.stash}
        if cases and not self.config.option.collectonly and self.place.number == 0:
            self._write_plan(session, cases)
        yield
        if cases and self.place.dist in MODES and not self.place.is_replacement:
            self._lot = self._draw(session)  # xdist has told the controller, which looks at the plan meanwhile

    def _write_plan(self, session: pytest.Session, cases: Mapping[CaseId, str]) -> None:
        try:
            self.folder.create()
            if self.place.dist == "loadgroup":
                self.folder.write_json(GROUPS, list(self._groups(session.items).items()))
            if not (
                self.settings.resume and self.folder.has_plan
            ):  # that one stands, whatever part of it this session takes up
                self.folder.write_plan(cases)
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        except OSError as error:
            raise pytest.UsageError(f"{cannot_write(self.folder.path, error)}; start again then") from None

    def _groups(self, items: Sequence[pytest.Item]) -> dict[int, str]:
        if self.place.dist != "loadgroup":
            return {}
        named = ((position, group_of(item.iter_markers("xdist_group"))) for position, item in enumerate(items))
        return {position: group for position, group in named if group is not None}

    # -- running

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._lookahead is None and PLANNED in item.stash and not self._problem:
            try:
                self._start(item.session)
            except OSError as error:
                self._problem = cannot_write(self.folder.path, error)
        if self._lookahead and self.place.is_replacement and not self._sees_all:
            taken = [item] if nextitem is None else [item, nextitem]  # xdist has taken them out of its queue
            self._lookahead.plan(self._open([*taken, *self._peek(item.session)]))

    @pytest.fixture
    def sample(self, request: pytest.FixtureRequest) -> str:
        """What the case is called: the sample's id, with the attempt behind it from the second on."""
        planned = request.node.stash.get(PLANNED, None)
        if planned is None:
            pytest.fail(
                "the fixtures sample and outcome are for test functions that are marked with benchmark_task(name)",
                pytrace=False,
            )
        return case_name(planned.row.id, planned.attempt)

    @pytest.fixture
    def outcome(self, request: pytest.FixtureRequest, sample: str) -> Outcome:
        """How this case ended: the sample was run and scored, possibly well before pytest came here.

        A fault that is not the model's is raised here, in set-up, so that pytest reports an error and no failure.
        """
        item = request.node
        planned = item.stash[PLANNED]
        kept = self._done.pop(planned.id, None) or self._result(item, planned)
        item.user_properties.append(("agentgauge.status", kept.status))
        if isinstance(kept, Line):
            item.user_properties += [("agentgauge.tokens", kept.tokens), ("agentgauge.usd", kept.usd)]
        outcome = Outcome(kept)
        if kept.status == "missing":
            pytest.skip(outcome.record.error or "not attempted")
        if kept.status == "broken":
            raise BrokenCase(outcome.record.error or "broken for an unknown reason")
        return outcome

    def _result(self, item: pytest.Item, planned: Planned) -> Line | Record:
        """How a case ended. Raises BrokenCase where that could not be written."""
        if self._lookahead:
            try:
                kept = self._lookahead.result(planned)
            except OSError as error:
                self._problem = self._problem or cannot_write(self.folder.path, error)
            else:
                if self._problem:
                    self._tell_problem(item)
                return kept
        item.user_properties.append(("agentgauge.status", "broken"))
        self._tell_problem(item)
        raise BrokenCase(f"{self._problem}; go on with --resume={self.folder.path}")

    def _tell_problem(self, item: pytest.Item) -> None:
        item.user_properties.append(("agentgauge.stop", self._problem))
        self._told_problem = True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        session = self.config.stash[SESSION]
        if not (session.shouldstop or session.shouldfail):  # for both pytest would say the same twice
            if self._told_problem:
                session.shouldstop = self._problem
            elif self._lookahead and self._held() and not self._problem:
                session.shouldstop = Path(self._stop_file).read_text(encoding="utf-8")
        if self._lookahead and (session.shouldstop or session.shouldfail):
            self._lookahead.hold()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.config.stash[SESSION] = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._lookahead:
            self._lookahead.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown" and PLANNED in item.stash:
            item.user_properties.clear()  # the reports have copies, and pytest keeps every item to the end
        if report.longrepr or report.sections:
            _clean(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self) -> Generator[None]:
        """Nobody reads what pytest's terminal keeps in an xdist worker; summing it up would take the square of the
        failures."""
        yield
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if self.place.dist != "no" and reporter is not None:
            for kept in reporter.stats.values():
                kept.clear()

    # -- helpers

    def _held(self) -> bool:
        """Whether nothing new may be started. Asked at every start and every end, by two threads; looked up every
        ``STALE`` seconds, since a system call lets the other thread in."""
        if self._problem:
            return True
        now = time.monotonic()
        if not self._saw_stop and now - self._looked > STALE:
            self._looked = now
            self._saw_stop = os.path.exists(self._stop_file)  # noqa: PTH110 - a quarter of the time of Path.exists
        return self._saw_stop

    def _start(self, session: pytest.Session) -> None:
        settings = self.settings
        earlier = settings.resume or self.place.is_replacement
        stored: dict[CaseId, Line] = {}
        if settings.rescore:
            stored = RunFolder(settings.rescore).lines()
        elif earlier:
            stored = self.folder.lines()
            self._done = {case: line for case, line in stored.items() if line.finished}
            stored = {case: line for case, line in stored.items() if not line.finished}
        appender = self.folder.appender(self.place.name)
        lot = self._lot or self._draw(session)
        me = lot.users.index(self.place.number)
        places = Places(self.folder.path / PLACES, number=me, count=len(lot.users), total=settings.in_flight)
        wiring = Wiring(settings, self.folder, places.share)
        waiting = WaitingRequests(self.folder.path, self.place.number)

        def keep(record: Record) -> Line:
            try:
                line = appender.append(record)
            except UNWRITABLE as error:  # what a benchmark made of the answers is no JSON, or nested too deeply
                text = f"the record cannot be written: {type(error).__name__}: {error}"
                line = appender.append(
                    replace(record, status="broken", transcript=None, score=None, error=text, cause="internal error")
                )
            if appender.problem:
                self._problem = cannot_write(self.folder.path, appender.problem)
            elif record.cause == DISK_FULL:
                self._problem = f"{record.error}: make room; what is finished is kept"
            case = (record.task, record.sample, record.attempt)
            if line.finished and (earlier or case in solver.staged):
                self.folder.checkpoint_file(*case).unlink(missing_ok=True)
                solver.staged.discard(case)
            return line

        async def close() -> None:
            await wiring.close()
            appender.close()

        solver = Solver(
            settings=CaseSettings(
                dialect=settings.dialect,
                scoring=settings.scoring,
                temperature=settings.model.temperature,
                max_tokens=settings.model.max_tokens,
                prompts=settings.file.prompts,
                attempts=settings.attempts,
                live=not (settings.record or settings.replay),
            ),
            folder=self.folder,
            worker=self.place.name,
            similarity=wiring.similarity(),
            configs={name: config_fingerprint(settings, find_task(name)) for name in self._indices},
            models=wiring.model,
            boxes=wiring.box,
            stored=stored,
            asks=not settings.rescore,
            earlier=earlier,
        )
        self._lookahead = LookAhead(
            solver.solve,
            keep,
            close,
            places=places,
            at_rest=wiring.at_rest,
            ready=lambda case: wiring.ready(case.task),
            widened=wiring.widen,
            held=self._held,
            idle=self.config.stash.get(IDLE, lambda: None),
            watch=lambda: waiting.write(wiring.older_than(OLD)),
        )
        wiring.on_rest = self._lookahead.rested
        if not self.place.is_replacement:
            self._lookahead.plan(self._open(lot.share))

    def _draw(self, session: pytest.Session) -> _Lot:
        """See DealtScheduling."""
        items, me = session.items, self.place.number
        shares = [items]
        if self.place.count > 1:
            nodes = [item.nodeid for item in items]
            dealt = deal(nodes, self.place.count, self.place.dist, self._groups(items), self.settings.in_flight)
            shares = [[items[position] for position in share] for share in dealt]
        users = [one for one, share in enumerate(shares) if one == me or any(PLANNED in item.stash for item in share)]
        return _Lot(shares[me], users)

    def _open(self, items: Iterable[pytest.Item]) -> list[Planned]:
        """The cases among these that have no answer yet."""
        planned = [case for item in items if (case := item.stash.get(PLANNED, None))]
        return [case for case in planned if case.id not in self._done] if self._done else planned

    def _peek(self, session: pytest.Session) -> list[pytest.Item]:
        """What is in xdist's own queue, where it lets us look; otherwise nothing, and cases run one by one."""
        for plugin in self.config.pluginmanager.get_plugins():
            queue: Any = getattr(plugin, "torun", None)
            if type(plugin).__name__ == "WorkerInteractor" and hasattr(queue, "lock"):
                with queue.lock() as waiting:
                    numbers = [number for number in waiting if isinstance(number, int)]
                    self._sees_all = len(numbers) < len(waiting)  # the last entry says that no more will come
                return [session.items[number] for number in numbers]
        return []


SESSION = pytest.StashKey[pytest.Session]()


def _clean(report: pytest.TestReport) -> None:
    """Take the secrets out of what a report shows: a traceback may show variables, and what was captured what
    libraries print."""
    report.sections = [(title, redact(text)) for title, text in report.sections]
    shown = str(report.longrepr or "")
    if (clean := redact(shown)) != shown:
        report.longrepr = clean


def case_name(sample: str, attempt: int) -> str:
    """A case's pytest id: the data set's own, with the attempt behind it from the second on."""
    return sample if attempt == 1 else f"{sample}#{attempt}"


def spread(rows: Sequence[Row], limit: int | None) -> Sequence[Row]:
    """At most ``limit`` rows, evenly spaced over all, always the same ones."""
    if limit is None or limit >= len(rows):
        return rows
    return [rows[i * len(rows) // limit] for i in range(limit)]
