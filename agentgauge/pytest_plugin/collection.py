"""Collection: one case per sample of a task, its keywords, the plan, and the queue of each worker."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import isfunction
from typing import Any

import pytest

from agentgauge.core.errors import AgentGaugeError, UsageProblem, did_you_mean
from agentgauge.core.files import cannot_write
from agentgauge.core.index import Index, Row, check_ids
from agentgauge.core.task import Task
from agentgauge.core.tracebacks import mistake_behind, sentence_of, with_mistake
from agentgauge.pytest_plugin.keys import NOTES, OWN, PLANNED
from agentgauge.pytest_plugin.options import only_looks, registry_of
from agentgauge.run.candidates import Candidates, choose
from agentgauge.run.limit import limited
from agentgauge.run.part import Place
from agentgauge.run.partition import GROUPS, queues
from agentgauge.run.planned import Planned
from agentgauge.run.preflight import applicable
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId


class CaseName(str):
    """A case's name, as the argument ``sample`` of a test. Two cases may have one name: the second attempt at a sample
    ``x``, and the first one at a sample ``x#2``."""

    __slots__ = ("case",)
    case: Planned

    def __new__(cls, case: Planned) -> CaseName:
        name = super().__new__(cls, case.name)
        name.case = case
        return name


class Collection:
    """Plans the cases. Registered in processes that run cases."""

    def __init__(self, config: pytest.Config, settings: Settings, worker: Place) -> None:
        self.config = config
        self.settings = settings
        self.worker = worker
        self.folder = RunFolder(settings.run_dir)
        self._announced = {task.name: task for task in registry_of(config)}  # in time for the settings
        self._cases: dict[str, Sequence[Planned]] = {}  # by task
        self._markers: set[str] = set()  # keywords that are registered as markers
        self._is_planned = False  # by an earlier run, which is resumed or scored again
        self._files: Mapping[str, Any] = {}  # of plugins, for the run folder
        self._earlier: dict[CaseId, str] | None = None  # what an earlier run planned, once it was looked up
        self.notes: list[str] = []  # for the user, at the end of the run
        self.is_chosen = False  # ``-k`` and ``-m`` have been applied; pytest goes on where they are refused

    def generate(self, metafunc: pytest.Metafunc, task: str) -> None:
        """Make one case per sample of a test function that is marked with the task."""
        getattr(pytest.mark, task.replace(".", "_"))(metafunc.function)
        try:
            if registry_of(self.config).get(task) is not self._announced.get(task):
                raise UsageProblem(
                    f"the benchmark {task} was announced when pytest imported its file to collect tests, which is too"
                    f" late: name the file on the command line (pytest {metafunc.definition.path.name}), or announce"
                    " the benchmark in a conftest.py or by a package's plugin"
                )
            names = self._names_of(self.settings.tasks[task])
        except AgentGaugeError as problem:
            text = with_mistake(problem, self.config.getoption("tbstyle", "auto"))
            raise pytest.fail.Exception(text, pytrace=False) from None
        metafunc.parametrize("sample", names, ids=names)  # pytest makes ids that occur twice differ

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, obj: object) -> list[pytest.Item] | None:
        """No item for a test of a task that the earlier run did not plan: pytest would show a skipped one."""
        marks = getattr(obj, "pytestmark", ()) if isfunction(obj) else ()  # another object may answer to any name
        tasks = [mark.args[0] for mark in marks if mark.name == "benchmark_task" and mark.args]
        earlier = self._earlier_plan() if tasks else {}
        return [] if earlier and not any(task in tasks for task, _, _ in earlier) else None

    def choose(self, items: list[pytest.Item]) -> None:
        """Give every case its keywords before ``-k`` and ``-m`` are applied, and restrict them to the plan of an
        earlier run.
        """
        self._plan_items(items)
        earlier = self._earlier_plan()
        self._is_planned = bool(earlier)
        _deselect(self.config, items, [not self._is_outside(item, earlier) for item in items])
        if first := self.worker.first:
            items.sort(key=lambda item: item.nodeid not in first)

    def keep_once(self, items: list[pytest.Item]) -> None:
        """Keep one test of each benchmark case: a plugin that repeats tests, or a file that is named twice, gives
        several. Each would ask the model, and only one record of a case counts."""
        seen: set[CaseId] = set()
        kept = []
        for case in (item.stash.get(PLANNED, None) for item in items):
            kept.append(case is None or case.id not in seen)
            seen |= {case.id} if case else set()
        if (surplus := kept.count(False)) and self.worker.number == 0:
            what = "1 test repeats a case" if surplus == 1 else f"{surplus} tests repeat cases"
            note = f"{what} and {'is' if surplus == 1 else 'are'} left out; --attempts=N asks each sample N times"
            self.notes.append(note)
            if (output := getattr(self.config, "workeroutput", None)) is not None:
                output[NOTES] = self.notes
        _deselect(self.config, items, kept)

    def keep_limited(self, items: list[pytest.Item]) -> None:
        """With ``--limit``, keep a part of the selected samples of each task, with all of their attempts."""
        if (limit := self.settings.limit) is None:
            return
        selected: dict[Task, dict[str, Row]] = defaultdict(dict)
        cases = [item.stash.get(PLANNED, None) for item in items]
        for case in filter(None, cases):
            selected[case.task][case.row.id] = case.row
        kept = {
            (task, row.id) for task, rows in selected.items() for row in limited([*rows.values()], limit, task.data)
        }
        _deselect(self.config, items, [case is None or (case.task, case.row.id) in kept for case in cases])

    def leave_out_pictures(self, items: list[pytest.Item]) -> None:
        """Deselect the cases that show pictures to a model that sees none. An earlier run, or the driver of a launch,
        has done so for its plan. Raises UsageError."""
        if self._is_planned or self.settings.assignment:
            return
        cases = [item.stash.get(PLANNED, None) for item in items]
        try:
            stay = applicable(self.settings, cases, asks=not only_looks(self.config))
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        except OSError as error:
            raise pytest.UsageError(f"{cannot_write(self.folder.path, error)}; then start again") from None
        _deselect(self.config, items, stay)

    def keep_chosen(self, items: list[pytest.Item]) -> None:
        """Keep what plugins choose of the selected tests. Raises UsageError. The driver of a launch has done so for its
        plan."""
        if self.settings.assignment:
            return
        order = sorted(range(len(items)), key=lambda place: items[place].nodeid)  # plugins may have shuffled them
        cases = [case_of(item) for item in items]
        tasks = [*dict.fromkeys(case.task.name for case in cases if case)]
        try:
            chosen = choose(Candidates(self.settings, [cases[place] for place in order], tasks, self._is_planned))
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        self._files = chosen.files
        mine = {order[position] for position in chosen.kept}
        _deselect(self.config, items, [place in mine for place in range(len(items))])

    def _is_outside(self, item: pytest.Item, earlier: Mapping[CaseId, str]) -> bool:
        """Whether the earlier run did not plan a case, or left no transcript to score: own tests have none."""
        case = case_of(item)
        if self.settings.assignment:
            return case is None or case.id not in self.settings.assignment.cases
        if case is None or not earlier:
            return False
        return case.id not in earlier or (self.settings.rescore is not None and OWN in item.stash)

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """With ``--collect-only -v``, the keywords of each case."""
        if not (self.config.option.collectonly and self.config.option.verbose > 0):
            return []
        cases = [(item.nodeid, case) for item in items if (case := item.stash.get(PLANNED, None))]
        lines = [f"{node}: {', '.join((case.task.name, *case.row.tags))}" for node, case in cases]
        return ["keywords, for -k and -m:", *lines] if lines else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write the plan: under xdist the controller collects nothing and reads it there."""
        planned = [(item, case_of(item)) for item in session.items]
        cases = {case.id: item.nodeid for item, case in planned if case}
        if (cases or self._files) and self.is_chosen and not only_looks(self.config) and self.worker.number == 0:
            self._write_plan(session, cases)

    def queue(self, items: Sequence[pytest.Item]) -> tuple[Sequence[pytest.Item], Sequence[int]]:
        """The items that this worker is to run, in order, and the numbers of the workers that have benchmark cases;
        this one is among them. The scheduler computes the same."""
        me, each = self.worker.number, [items]
        if self.worker.count > 1:
            nodes = [item.nodeid for item in items]
            positions = queues(nodes, self.worker.count, self.worker.dist, self._groups(items), self.settings.slots)
            each = [[items[position] for position in queue] for queue in positions]
        users = [one for one, queue in enumerate(each) if one == me or any(map(case_of, queue))]
        left = self.worker.left
        return each[me] if left is None else [items[position] for position in left], users

    def _names_of(self, task: Task) -> list[CaseName]:
        """The names of a task's cases; only of those that the earlier run planned, where no id changes by that."""
        cases, earlier = self._cases_of(task), self._earlier_plan()
        if earlier and len({case.name for case in cases}) == len(cases):
            cases = [case for case in cases if case.id in earlier]
        return [CaseName(case) for case in cases]

    def _cases_of(self, task: Task) -> Sequence[Planned]:
        """A task's cases. None where ``--data`` names a folder without its data."""
        if task.name not in self.settings.roots:
            return ()
        if task.name not in self._cases:
            index = self._index_of(task)
            attempts = range(1, self.settings.attempts + 1)
            self._cases[task.name] = [Planned(task, index, row, attempt) for row in index.rows for attempt in attempts]
        return self._cases[task.name]

    def _index_of(self, task: Task) -> Index:
        try:
            index = task.data.index(self.settings.roots[task.name])
        except Exception as error:
            if isinstance(error, AgentGaugeError) or not mistake_behind(error):
                raise
            raise UsageProblem(f"{task.name}: reading its data failed: {sentence_of(error)}") from error
        check_ids(index.file, (row.id for row in index.rows))  # a data source may make its index itself
        return index

    def _plan_items(self, items: Iterable[pytest.Item]) -> None:
        named = _words(self.config.option.markexpr)
        tasks: dict[tuple[pytest.Item | pytest.Collector | None, str | None], Task | None] = {}  # of test functions
        for item in items:
            function = (item.parent, getattr(item, "originalname", None))
            if function not in tasks:
                marker = item.get_closest_marker("benchmark_task")
                tasks[function] = marker and self.settings.tasks[marker.args[0]]
            task, callspec = tasks[function], getattr(item, "callspec", None)
            if task is None or callspec is None:
                continue
            name = callspec.params.get("sample")
            if not isinstance(name, CaseName):
                continue
            planned = name.case
            item.stash[PLANNED] = planned
            keywords = _spellings(task.name, planned.row.tags)
            item.extra_keyword_matches.update(keywords)
            for word in named.intersection(keywords):  # marks for every keyword double the cost of collection
                if word not in self._markers:
                    self._markers.add(word)
                    self.config.addinivalue_line("markers", f"{word}: keyword of a benchmark sample")
                item.add_marker(word)

    def refuse_mistyped_marker(self, items: Sequence[pytest.Item], likeness: float = 0.8) -> None:
        """Raises UsageError if ``-m`` names a marker that none of the collected items has and that resembles one of
        ours."""
        unused = {
            name for name in _words(self.config.option.markexpr) if not any(name in one.keywords for one in items)
        }
        self._refuse("-m names the marker", unused, self._keywords(), likeness)

    def refuse_mistyped_keyword(self, items: Sequence[pytest.Item]) -> None:
        """Likewise for ``-k``, which finds parts of names and ignores case."""
        unused = {word.lower() for word in _words(self.config.option.keyword)}
        for item in items if unused else ():
            names = "\n".join((*item.keywords, *item.listextrakeywords())).lower()
            unused = {word for word in unused if word not in names}
        self._refuse("-k names the keyword", unused, {word.lower() for word in self._keywords()}, likeness=0.8)

    def _keywords(self) -> set[str]:
        """What is known of ours: markers of tasks, and tags of samples."""
        tags = {tag for cases in self._cases.values() for case in cases for tag in case.row.tags}
        return tags | {task.replace(".", "_") for task in self.settings.tasks.names}

    @staticmethod
    def _refuse(what: str, unused: set[str], ours: set[str], likeness: float) -> None:
        for name in sorted(unused):
            if name not in ours and (meant := did_you_mean(name, sorted(ours), likeness=likeness)):
                raise pytest.UsageError(f"{what} {name!r}, which no test has{meant}")

    def _earlier_plan(self) -> dict[CaseId, str]:
        """The plan of the run that is resumed or scored again; empty for a new run."""
        if self._earlier is None:
            folder = RunFolder(self.settings.rescore) if self.settings.rescore else self.folder
            is_there = bool(self.settings.rescore) or (self.settings.resume and folder.has_plan)
            self._earlier = folder.plan() if is_there else {}
        return self._earlier

    def _write_plan(self, session: pytest.Session, cases: Mapping[CaseId, str]) -> None:
        try:
            self.folder.create()
            if self.worker.dist == "loadgroup":
                self.folder.write_json(GROUPS, list(self._groups(session.items).items()))
            for name, content in self._files.items():
                self.folder.write_json(name, content)
            if cases and not (self.settings.resume and self.folder.has_plan):  # a resumed run keeps its whole plan
                self.folder.write_plan(cases)
        except UsageProblem as problem:
            raise pytest.UsageError(str(problem)) from None
        except OSError as error:
            raise pytest.UsageError(f"{cannot_write(self.folder.path, error)}; then start again") from None

    def _groups(self, items: Sequence[pytest.Item]) -> dict[int, str]:
        if self.worker.dist != "loadgroup":
            return {}
        named = ((position, group_of(item.iter_markers("xdist_group"))) for position, item in enumerate(items))
        return {position: group for position, group in named if group is not None}


def _words(expression: str) -> set[str]:
    """The names in an expression of ``-k`` or ``-m``."""
    return set(re.findall(r"[^\s()]+", expression)) - {"and", "or", "not"}


@lru_cache(maxsize=1024)
def _spellings(task: str, tags: tuple[str, ...]) -> frozenset[str]:
    """What selects a case beside the marker of its task: hyphens and underscores are alike."""
    marker = task.replace(".", "_")
    words = (task, marker, *tags)
    others = (word.replace(old, new) for word in words for old, new in ("-_", "_-"))
    return frozenset((*words, *others)) - {marker}


def _deselect(config: pytest.Config, items: list[pytest.Item], kept: Sequence[bool]) -> None:
    """``kept``: whether each item stays selected."""
    if others := [item for item, stays in zip(items, kept, strict=True) if not stays]:
        items[:] = [item for item, stays in zip(items, kept, strict=True) if stays]
        config.hook.pytest_deselected(items=others)


def case_of(item: pytest.Item) -> Planned | None:
    """The case of an item: a benchmark case, or a test of the project that leaves a record."""
    return item.stash.get(PLANNED, None) or item.stash.get(OWN, None)


def group_of(marks: Iterable[pytest.Mark]) -> str | None:
    """The group of a case with these ``xdist_group`` marks. xdist itself writes it into node ids, which pytest 9.2
    does not allow."""
    names = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
    return "_".join(sorted(names)) or None
