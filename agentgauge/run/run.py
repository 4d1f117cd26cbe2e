"""One run as an object: its plan, what it needs, its records and its folder. pytest's plugin drives one step by step; a
script or a notebook calls ``solve`` or ``stream``."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.files import cannot_write, refusal
from agentgauge.core.index import check_ids
from agentgauge.core.option import destination, key_of
from agentgauge.core.options import OPTIONS
from agentgauge.core.processes import make_tool_token
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Metric, Record, TaskSummary
from agentgauge.model.outage import FILE as OUTAGES
from agentgauge.model.outage import outage_notes, outages
from agentgauge.model.rates import FILE as RATES
from agentgauge.replies.stages import remove_stages
from agentgauge.run.candidates import Candidates, choose
from agentgauge.run.coordination.slots import FILE as SLOTS
from agentgauge.run.coordination.stopping import FILE as STOP
from agentgauge.run.coordination.stopping import RUNNING, StopFile
from agentgauge.run.coordination.waiting_requests import FILE as WAITING
from agentgauge.run.crashes import Suspects, note_earlier_death, remove_running
from agentgauge.run.hooks import Failures, Hooks, hooks_of
from agentgauge.run.limit import limited
from agentgauge.run.planned import Planned
from agentgauge.run.preflight import applicable, check, require_sight, vision_lines
from agentgauge.run.run_folder import check_run, run_json, take_folder
from agentgauge.run.run_services import start_services, stop_services
from agentgauge.run.runner import Result, Runner
from agentgauge.run.services import Service
from agentgauge.run.settings import Settings, config_fingerprint, read_settings
from agentgauge.store import Line, RunFolder
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.folder_lock import FolderLock
from agentgauge.store.jsonl import CaseId, CaseOutline
from agentgauge.store.records import LeftOut, left_out_notes
from agentgauge.store.revisions import Revisions

_LEFT = (STOP, RUNNING, SLOTS, WAITING, RATES, OUTAGES)
"""Files of the run folder that matter while cases run."""


class Run:
    """A run that has not begun, goes on, or has ended.

    ``settings``, ``plan``; ``summary`` and ``records`` once cases have run; ``folder``. ``problems``: why it is not
    sound, a sentence each; ``notes``: what else a person should know; ``pages``: files that show it.
    """

    def __init__(
        self,
        tasks: str | Task | Sequence[str | Task] = (),
        model: str | None = None,
        *,
        root: str | Path = ".",
        registry: Registry | None = None,
        plugins: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        """``tasks``: names, or tasks themselves (default: all that are installed). ``model`` and ``options``: as on the
        command line, with ``_`` for ``-``: ``limit=64, max_tokens=800, run_dir="runs/mine"``. ``root``: the folder of
        ``agentgauge.toml``. ``registry``: the tasks that are known (default: those of all installed packages).
        ``plugins``: modules or objects that implement hooks (agentgauge/hookspec.py), besides those of installed
        packages.

        Nothing is written or asked before ``solve`` or ``stream``. Raises UsageProblem.
        """
        named = (tasks,) if isinstance(tasks, str | Task) else tuple(tasks)
        known = Registry([*(registry or Registry.installed()), *_own_tasks(named)])
        names = dict.fromkeys(task.name if isinstance(task, Task) else known[task].name for task in named)
        option = _options(known, {"model": model, **options})
        settings = read_settings(option, Path(root).absolute(), tasks=known)
        self._init(settings, Path(root).absolute(), hooks_of(plugins))
        for name in names:
            _check_data(self.settings, name)
        self._selected = [*names] or [name for name in self.settings.roots if not _is_own(self.settings, name)]
        self._is_named = option.run_dir is not None

    @classmethod
    def of(cls, settings: Settings, root: Path, hooks: Hooks) -> Run:
        """A run with these settings, whose plan is made elsewhere."""
        run = cls.__new__(cls)
        run._init(settings, root, hooks)
        return run

    def _init(self, settings: Settings, root: Path, hooks: Hooks) -> None:
        self.settings = settings
        self.hooks = hooks
        self.root = root
        self.plan: list[CaseId] = []
        self.tools: Mapping[str, Mapping[str, Any]] = {}  # what identifies each tool
        self.sandbox: tuple[str, ...] = ()  # the layers that confine programs
        self.services: dict[str, Service] = {}
        self.started = 0.0  # when it began: seconds since the epoch, once its folder is claimed
        self.stop_reason: str | None = None
        self.service_problem = ""  # why a service did not start, or is gone for good
        self.earlier_death = ""  # of a resumed run: a sentence about cases that were running when a process died
        self.about = dict(settings.about)  # what run.json says more; plugins add to it before it is written
        self.held: list[str] = []  # no problems: what holds, and why
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.pages: list[str] = []  # files in its folder that show it to people, written by plugins
        self.summary_json: dict[str, Any] | None = None  # the content of summary.json
        self.outlines: Mapping[CaseId, CaseOutline] = {}  # of all cases, while the run is summed up
        self.why_missing = ""  # why planned cases were not attempted, once the run has ended
        self._selection: Mapping[str, Any] = {}
        self.on_wait: Callable[[], None] = lambda: None
        """Called in any thread, when the run has been stopped and what endpoints work on is awaited."""
        self._revisions: Revisions | None = None
        self._open = ExitStack()
        self.until_cases_end = ExitStack()
        """What goes on beside the cases: it is closed when they have ended. Any thread may close it."""
        self._was_asked_for = False  # by ``solve`` or ``stream``
        self._has_begun = False

    # -- what a run has

    @property
    def folder(self) -> Path:
        return self.settings.run_dir

    @property
    def files(self) -> RunFolder:
        return RunFolder(self.settings.run_dir)

    @property
    def benchmark_cases(self) -> Counter[str]:
        """Task → planned cases; without tests of the project's own, which pytest runs and shows."""
        return Counter(task for task, _, _ in self.plan if not _is_own(self.settings, task))

    @property
    def records(self) -> Iterator[Record]:
        """The records so far, in the order of the plan. Each is read when it is asked for."""
        return (line.read() for line in self.files.lines(self.plan).values())

    @property
    def summary(self) -> Mapping[str, TaskSummary]:
        """Task → what its cases have come to. Raises UsageProblem before the run has ended."""
        if self.summary_json is None:
            raise UsageProblem(f"the run in {self.folder} has not ended; its summary is made by solve() or stream()")
        return {name: _summary(self.settings.tasks[name], part) for name, part in self.summary_json["tasks"].items()}

    # -- without pytest

    async def solve(self) -> Mapping[str, TaskSummary]:
        """Run all cases. Returns the summary. Raises UsageProblem."""
        async for _ in self.stream():
            pass
        return self.summary

    async def stream(self) -> AsyncGenerator[Record]:
        """Run all cases; gives each record when its case ends. A caller that leaves the loop early stops the run, which
        a new one with ``resume=folder`` goes on with; ``contextlib.aclosing`` awaits its end. Raises UsageProblem."""
        if self._was_asked_for:
            raise UsageProblem("this Run was started before; make another one, with resume=FOLDER to go on with it")
        self._was_asked_for = True
        ended: asyncio.Queue[Line | Record | None] = asyncio.Queue()  # None: no more will come
        left = asyncio.Event()
        work = asyncio.create_task(self._whole_run(ended, left))
        _going.add(work)
        work.add_done_callback(_going.discard)
        work.add_done_callback(lambda _: ended.put_nowait(None))
        try:
            while (result := await ended.get()) is not None:
                yield result.read() if isinstance(result, Line) else result
        finally:
            left.set()
            await _to_its_end(work)

    async def _whole_run(self, ended: asyncio.Queue[Line | Record | None], left: asyncio.Event) -> None:
        """A task of its own: it ends the run properly, whatever becomes of the loop that takes the records. ``left``:
        set once that loop needs no record any more, because the end moves their files. Raises UsageProblem."""
        try:
            try:
                await _in_thread(self._prepared)
                if self._has_begun:
                    await self._run_cases(ended, left)
            finally:
                await _in_thread(self._ended)
        except OSError as error:
            raise UsageProblem(cannot_write(self.folder, error)) from None

    async def _run_cases(self, ended: asyncio.Queue[Line | Record | None], left: asyncio.Event) -> None:
        try:
            hooks = self.hooks if self.hooks.see_cases else None
            runner = Runner(self.settings, {task for task, _, _ in self.plan}, hooks_of=lambda _: hooks)
        except OSError as error:
            self.stop_reason = cannot_write(self.folder, error)
            raise
        cases = [case for case in self._cases if case.id not in runner.finished]
        waiting = {case.id for case in cases}
        failures: list[Exception] = []

        def note(case: CaseId, result: Result) -> None:
            waiting.discard(case)
            if isinstance(result, Exception):
                failures.append(result)
            else:
                ended.put_nowait(result)
            if failures or not waiting:
                ended.put_nowait(None)

        runner.on_done = note
        runner.start()
        try:
            runner.submit(cases)
            if cases:
                await left.wait()
        finally:
            await runner.close()
            unwritten = [error for error in failures if isinstance(error, OSError)]
            if problem := runner.problem or (unwritten and cannot_write(self.folder, unwritten[0])):
                self.stop_reason = problem
        if failures:
            raise failures[0]

    def _prepared(self) -> None:
        self.claim({}, is_named=self._is_named)
        self.files.create()
        self._cases = self._planned()
        if not self._cases:
            self._end_empty()
            return
        if not (self.settings.resume and self.files.has_plan):
            self.files.write_plan({case.id: f"{case.task.name}[{case.name}]" for case in self._cases})
        if self.settings.earlier_tools is None and not self.settings.tool_server:
            self._open.callback(make_tool_token())
        try:
            self.begin()
        except Exception:
            if not (self.settings.resume or self.files.has_records or self.services):  # whose logs are kept
                self.files.discard()
            raise
        self._has_begun = True

    def _end_empty(self) -> None:
        """Raises UsageProblem, unless a plugin says why there is none."""
        if notes := self.why_empty():
            self.notes += notes
            self.summary_json = {"tasks": {}}
            return
        names = ", ".join(self._selected)
        planned_none = self.settings.rescore or self.settings.resume
        why = f"the earlier run planned none of {names}" if planned_none else f"the data of {names} has no sample"
        raise UsageProblem(f"there is no case to run: {'; '.join(vision_lines(self.settings)) or why}")

    def why_empty(self) -> list[str]:
        """Why it is as it should be that no case is planned, a sentence each; none where no plugin says so."""
        return self.hooks.lines("pytest_agentgauge_empty", run=self)

    def _ended(self) -> None:
        try:
            if self._has_begun:
                self.end(self.stop_reason or self.service_problem or "the program ended before them")
        finally:
            self.close()

    def _planned(self) -> list[Planned]:
        """The cases of the selected tasks, or those that the earlier run planned."""
        found: list[Planned] = []
        earlier = RunFolder(self.settings.rescore) if self.settings.rescore else self.files
        before = earlier.plan() if self.settings.rescore or (self.settings.resume and earlier.has_plan) else None
        for name in self._selected:
            task = self.settings.tasks[name]
            index = task.data.index(self.settings.roots[name])
            check_ids(index.file, (row.id for row in index.rows))  # a data source may make its index itself
            attempts = range(1, self.settings.attempts + 1)
            rows = index.rows
            if before is not None:
                known = {sample for of, sample, _ in before if of == name}
                rows = tuple(row for row in rows if row.id in known)
            if self.settings.limit is not None:
                rows = tuple(limited(rows, self.settings.limit, task.data))
            found += [Planned(task, index, row, attempt) for row in rows for attempt in attempts]
        if before is not None:
            return [case for case in found if case.id in before]
        found = [case for case, stays in zip(found, applicable(self.settings, found), strict=True) if stays]
        candidates = choose(Candidates(self.settings, found, [*dict.fromkeys(case.task.name for case in found)]))
        for name, content in candidates.files.items():
            self.files.write_json(name, content)
        return [case for place, case in enumerate(found) if place in candidates.kept]

    # -- step by step

    def claim(self, selection: Mapping[str, Any], *, is_named: bool) -> None:
        """Lock the run folder until ``close``, and write run.json: from then on a killed run can be resumed.

        A run that plans no case leaves nothing. ``selection``: of the cases, for run.json. ``is_named``: the user chose
        the folder. Raises UsageProblem if another process has locked the folder, if it holds a run already, or if a
        resumed run would differ from the earlier one.
        """
        self._selection = selection
        self.started = time.time()
        if self.settings.rescore:
            self._open.callback(FolderLock(self.settings.rescore, shared=True).release)
        self.settings, give_back = take_folder(self.settings, is_named=is_named)
        if give_back is None:
            return
        self._open.callback(give_back)
        try:
            check_run(self.settings)
            if self.settings.resume:
                self.earlier_death = note_earlier_death(self.settings)
            else:
                self.files.write_json("run.json", run_json(self.settings, selection, **self.about))
        except OSError as error:
            raise UsageProblem(f"the run folder {self.folder}: {refusal(error)}") from None

    def begin(self, connect: Callable[[Mapping[str, str]], None] | None = None) -> None:
        """Once the plan is written: check the tools, start the services, and describe the run. ``connect`` is called
        with the tasks' fingerprints before the services start. Raises UsageProblem and OSError."""
        settings, folder = self.settings, self.files
        if not self.hooks.has("pytest_agentgauge_ended"):  # installed before this version
            raise UsageProblem("no package has a plugin that sums runs up; install AgentGauge again")
        self.plan = list(folder.plan())
        for left in _LEFT:
            (folder.path / left).unlink(missing_ok=True)
        self.hooks.call("pytest_agentgauge_check", run=self)
        self.tools, self.sandbox = check(settings, self.plan)
        tasks = {task for task, _, _ in self.plan}
        configs = {name: config_fingerprint(settings, settings.tasks[name]) for name in tasks}
        if settings.assignment:
            settings.assignment.check(configs)
        if connect:
            connect(configs)
        self.notes += require_sight(settings, folder, self.plan)
        self.services = start_services(settings, folder, tasks, self.service_failed)
        self.describe(finished=None)
        self.hooks.call("pytest_agentgauge_begin", run=self)
        if self.service_problem:
            raise UsageProblem(self.service_problem)
        folder.reserve()
        self.hooks.tell_now("pytest_agentgauge_run_planned", run=self)

    def stop(self, reason: str, *, awaits: bool = False) -> None:
        """Stop the run gracefully: no new case is started, in any process. ``awaits``: see ``StopFile``. Any thread may
        call it."""
        self.stop_reason = reason
        self.stop_workers(reason, awaits=awaits)
        if awaits:
            self.on_wait()

    def stop_workers(self, reason: str, *, awaits: bool = False) -> None:
        """As ``stop``, for a reason that is no result of the run."""
        if self.plan:
            self.files.free_reserve()
            with suppress(OSError):  # the disk is full: workers find that out
                StopFile(self.folder).write(reason, awaits=awaits)

    def end(self, why_missing: str) -> None:
        """Once no case runs any more: merge the records and sum up. ``why_missing``: why planned cases were not
        attempted, if any were not. Raises OSError and UsageProblem."""
        folder = self.files
        self.end_beside()
        self.why_missing = why_missing
        self.notes += outage_notes(outages(folder.path, time.time()))
        for left in _LEFT[1:]:
            (folder.path / left).unlink(missing_ok=True)
        folder.free_reserve()
        left_out: list[LeftOut] = []
        outlines = folder.merge_records(self.plan, left_out)
        remove_running(folder.path)
        if all(case in outlines for case in self.plan):
            Suspects().write(folder.path)  # none are left
            if all(outline.status in ("passed", "wrong") for outline in outlines.values()):
                remove_stages(folder.path)
        self.notes += left_out_notes(folder.path, left_out, LEFT_OUT)
        self.outlines = outlines
        self.hooks.call("pytest_agentgauge_ended", run=self, outlines=outlines)
        unjudged = Failures()  # a judge that fails has not found the run to be sound
        self.hooks.tell_now("pytest_agentgauge_summary", failures=unjudged, run=self)
        self.problems += unjudged.sentences("the run is not judged by it; correct it, then judge by --rescore")
        self.describe(finished=time.time())
        self.hooks.tell_now("pytest_agentgauge_report", run=self)
        self.outlines = {}
        self.notes += self.hooks.failures.sentences()

    def describe(self, finished: float | None) -> None:
        """Write run.json. ``finished``: when the run ended, seconds since the epoch; None while it goes on."""
        self._revisions = self._revisions or Revisions(self.root)
        about = run_json(
            self.settings,
            self._selection,
            self.plan,
            tools=self.tools,
            sandbox=self.sandbox,
            started=self.started,
            finished=finished,
            revisions=self._revisions.known(wait=finished is not None),
            **({"reported": _reported(self.summary_json)} if self.summary_json else {}),
            **self.about,
        )
        self.files.write_json("run.json", about)

    def end_beside(self) -> None:
        """End what goes on beside the cases."""
        try:
            self.until_cases_end.close()
        except Exception as error:  # of a plugin, which has begun it
            why = f"{type(error).__name__}: {error}"
            self.problems.append(f"what a plugin had begun beside the cases could not be ended ({why})")

    def close(self) -> None:
        """End the services, and release the folder."""
        self.end_beside()
        stop_services(self.services)
        self._open.close()

    def service_failed(self, problem: UsageProblem) -> None:
        """Stop the run. Called in another thread, while cases may be running that do not need the service."""
        self.service_problem = str(problem)
        self.stop(str(problem))


def _is_own(settings: Settings, task: str) -> bool:
    """Whether the cases of a task are tests of the project's own."""
    return settings.tasks[task].data.in_run_folder


def _own_tasks(named: Sequence[str | Task]) -> list[Task]:
    """Those that are no names. Raises UsageProblem for two of one name."""
    own: dict[str, Task] = {}
    for task in named:
        if isinstance(task, Task) and own.setdefault(task.name, task) is not task:
            raise UsageProblem(f"two of the tasks have the name {task.name}; rename one")
    return [*own.values()]


def _check_data(settings: Settings, name: str) -> None:
    """Raises UsageProblem for a task without data."""
    if name not in settings.roots:
        raise UsageProblem(f"there is no data of {name} in {settings.data!r}; give its folder (data=), or leave it out")
    if _is_own(settings, name):
        raise UsageProblem(f"{name} stands for the tests of a project, which pytest runs; leave it out")


def _options(tasks: Registry, given: Mapping[str, Any]) -> Namespace:
    """The options of a run as pytest's plugin parses them. Raises UsageProblem for one that is not known, and for a
    value of another type."""
    own = {key_of(name): option for name, option in tasks.options(reserved=OPTIONS).items()}
    ours = {option.key: option for option in OPTIONS.values()}
    known = [*ours, *own]
    for name in given:
        if name not in known:
            raise UsageProblem(f"Run has no option {name!r}{did_you_mean(name, known)}; it has {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, option in ours.items():
        many = option.many and name != "model"  # of which a run has one
        values[name] = _parsed(name, option.kind, given.get(name), many=many)
    for name, option_of_task in own.items():
        is_switch = option_of_task.default is None and not option_of_task.accepted
        values[destination(option_of_task.name)] = _parsed(name, bool if is_switch else str, given.get(name))
    return Namespace(**values)


_KINDS: Mapping[type, tuple[type | UnionType, str]] = {
    bool: (bool, "True or False"),
    int: (Integral, "an integer"),
    float: (Real, "a number"),
    str: (str | Path, "a text"),
    Path: (str | Path, "a text"),
}


def _parsed(name: str, kind: type, value: Any, *, many: bool = False) -> Any:
    """The value as it would be parsed. Raises UsageProblem."""
    if value is None:
        return None
    if many:
        values = [value] if isinstance(value, str) else value
        if not (isinstance(values, list | tuple) and all(isinstance(each, str) for each in values)):
            raise UsageProblem(f"{name}={value!r} does not fit: it takes a text, or a list of texts")
        return list(values)
    accepted, what = _KINDS[kind]
    if not isinstance(value, accepted) or isinstance(value, bool) != (kind is bool):
        raise UsageProblem(f"{name}={value!r} does not fit: it takes {what}")
    return kind(value)


_going: set[asyncio.Task[None]] = set()  # asyncio itself keeps no task alive


async def _in_thread(step: Callable[[], None]) -> None:
    """Run a step in a thread. It is waited for even where the task is cancelled."""
    await _to_its_end(asyncio.get_running_loop().run_in_executor(None, step))


async def _to_its_end(work: asyncio.Future[None]) -> None:
    """Wait for it, also while this task is cancelled, which is raised after that."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        with suppress(asyncio.CancelledError):
            work.exception()  # is not logged as one that was never retrieved
        raise cancelled
    work.result()


def _reported(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Option of a model's role → names that its endpoint reported, other than the one asked for, with the number of
    replies."""
    parts = summary.get("observed", {}).items()
    return {role: part["reported"] for role, part in parts if "reported" in part}


def _summary(task: Task, part: Mapping[str, Any]) -> TaskSummary:
    figures = {
        name: Metric(found["value"], found.get("low"), found.get("high"), found.get("n", 0))
        for name, found in part["metrics"].items()
    }
    counts = {name: part[name] for name in ("planned", "passed", "wrong", "broken", "missing")}
    return TaskSummary(**counts, headline=figures[task.shown.headline], figures=figures)
