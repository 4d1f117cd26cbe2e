"""A finished run as plain objects: what ``agentgauge.read_run`` and ``agentgauge.compare`` return."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import TESTED
from agentgauge.core.task import Task
from agentgauge.core.text import counted
from agentgauge.core.types import Event, Record
from agentgauge.store.jsonl import UNREADABLE, CaseId, CaseOutline
from agentgauge_reports.grouping import kind_of
from agentgauge_reports.leaderboard import by_benchmark
from agentgauge_reports.load import Omitted, Reader, Run, load_run
from agentgauge_reports.notices import limit_of, mostly_broken
from agentgauge_reports.rows import CallResult, MetricResult, RowList, RowTable, SampleResult
from agentgauge_reports.run import by_name


class RunMetrics(RowTable[MetricResult]):
    """The figures of a run. ``metrics["wild.Task"]`` is one of them; iterating gives all."""

    def __init__(self, summary: Mapping[str, Any], tasks: Registry) -> None:
        """``summary``: the content of summary.json. ``tasks``: all that are known. Raises UsageProblem for a task that
        is not."""
        self._found = {one.key: one for one in _figures(summary, tasks)}
        super().__init__(MetricResult, self._found.values)

    def __getitem__(self, key: str) -> MetricResult:
        """The figure of ``wild.Task``, ``wild.pass@2`` or ``Apple MMAU.domains.math``. Raises KeyError."""
        try:
            return self._found[key]
        except KeyError:
            raise KeyError(
                f"there is no figure {key!r}{did_you_mean(key, self._found)}; a key is TASK.METRIC, such as"
                f" {next(iter(self._found), 'wild.Task')!r}"
            ) from None

    def __contains__(self, key: object) -> bool:
        return key in self._found

    def __len__(self) -> int:
        return len(self._found)


def _figures(summary: Mapping[str, Any], tasks: Registry) -> Iterator[MetricResult]:
    for name, part in summary["tasks"].items():
        for metric, figure in (part["metrics"] | by_name(part)).items():
            yield _task_metric(tasks[name], part, metric, figure, limit_of(summary, [name]))
    for benchmark, parts in summary["capabilities"].items():
        limit = limit_of(summary, [task.name for task in by_benchmark(summary, tasks)[benchmark]])
        for group, scores in parts.items():
            for score, figure in scores.items():
                yield _combined_metric(benchmark, f"{group}.{score}", figure, limit)


def _task_metric(task: Task, part: Mapping[str, Any], name: str, figure: Mapping[str, Any], limit: str) -> MetricResult:
    shown = task.shown
    return MetricResult(
        key=f"{task.name}.{name}",
        benchmark=shown.benchmark,
        task=task.name,
        name=name,
        is_headline=name == shown.headline,
        is_count=name in shown.counts,
        is_comparable=part.get("comparable", False),
        limit=limit,
        warning="; ".join(filter(None, (mostly_broken(part), *shown.doubts(part)))),
        **{key: figure.get(key) for key in _NUMBERS},
    )


def _combined_metric(benchmark: str, name: str, figure: Mapping[str, Any], limit: str) -> MetricResult:
    missing = ", ".join(figure["missing"])
    return MetricResult(
        key=f"{benchmark}.{name}",
        benchmark=benchmark,
        task="",
        name=name,
        is_headline=False,
        is_count=False,
        is_comparable=False,
        limit=limit,
        warning=f"incomplete, without a figure of {missing}" if missing else "",
        **{key: figure.get(key) for key in _NUMBERS},
    )


_NUMBERS = ("value", "low", "high", "n", "broken", "value_clean", "low_clean", "high_clean", "n_clean")


# -- the run


def read_run(folder: str | PathLike[str], tasks: Registry | Iterable[Task] = ()) -> FinishedRun:
    """Read a finished run: its figures and, in outline, its cases. Transcripts are read while ``calls`` is iterated.
    ``tasks``: those that no installed package announces, or a registry of all that are known.

    Raises UsageProblem if the folder holds no finished run, for a run of a task that is not known, and for a damaged
    record.
    """
    return FinishedRun(load_run(Path(folder), tasks=_known(tasks)))


def _known(tasks: Registry | Iterable[Task]) -> Registry:
    if isinstance(tasks, Registry):
        return tasks
    own = {task.name: task for task in tasks}
    return Registry([*(task for task in Registry.installed() if task.name not in own), *own.values()])


class FinishedRun:
    """A finished run.

    ``metrics``: its figures, by key or by iteration. ``samples``: the outcome of each case, in the order of the plan,
    including cases that were not attempted. ``calls``: the exchanges with models and tools, case by case.
    """

    def __init__(self, run: Run, omitted: Omitted | None = None) -> None:
        """``omitted``: collects the cases whose record cannot be read; without it they raise UsageProblem."""
        self._run = run
        self._omitted = omitted
        self.path = run.path
        self.model = run.model
        self.summary: Mapping[str, Any] = run.summary  # what summary.json holds
        self.about: Mapping[str, Any] = run.about  # what run.json holds
        self.tasks = run.tasks  # all that are known, with the run's options
        self.metrics = RunMetrics(run.summary, run.tasks)
        self.samples = RowList(SampleResult, len(run.cases), lambda place: _sample(run.cases[place], run.tasks))
        self.calls: RowTable[CallResult] = RowTable(CallResult, self._calls)

    def __repr__(self) -> str:
        return f"<run of {self.model} in {self.path}: {counted(len(self._run.cases), 'case')}>"

    def record(self, sample: SampleResult) -> Record:
        """The full record of a case: its transcript, and its score with the explanation.

        Raises UsageProblem for a case that was not attempted, and for a record that cannot be read.
        """
        name = (sample.task, sample.sample, sample.attempt)
        case = self._cases.get(name)
        if case is None or case.start < 0:
            raise UsageProblem(f"{self.path} has no record of {' '.join(map(str, name))}, which was not attempted")
        with self._run.reading() as read:
            return _read_record(read, case)

    @cached_property
    def _cases(self) -> Mapping[CaseId, CaseOutline]:
        return {case.id: case for case in self._run.cases}

    def _calls(self) -> Iterator[CallResult]:
        with self._run.reading() as read:
            for case in self._run.cases:
                yield from self._calls_of(case, read) if case.start >= 0 else ()

    def _calls_of(self, case: CaseOutline, read: Reader) -> list[CallResult]:
        try:
            transcript = _read_record(read, case).transcript
            events = transcript.events if transcript else ()
            return [_call(case, number, event) for number, event in enumerate(events, 1)]
        except (UsageProblem, *UNREADABLE) as error:
            problem = error if isinstance(error, UsageProblem) else _unreadable(case, error)
            if self._omitted is None:
                raise problem from None
            self._omitted.add(f"{case.task} {case.sample}", problem)
            return []


def _read_record(read: Reader, case: CaseOutline) -> Record:
    try:
        return read(case)
    except ValueError as error:
        raise _unreadable(case, error) from None


def _unreadable(case: CaseOutline, error: Exception) -> UsageProblem:
    return UsageProblem(
        f"{case.file}: the record of {case.task} {case.sample}, attempt {case.attempt}, cannot be read: {error};"
        " run this case again with --resume"
    )


def _sample(case: CaseOutline, tasks: Registry) -> SampleResult:
    ended = case.status in ("passed", "wrong")
    return SampleResult(
        task=case.task,
        sample=case.sample,
        attempt=case.attempt,
        status=case.status,
        passed=case.status == "passed" if ended else None,
        labels=case.score.labels if case.score else (),
        kind=kind_of(case, tasks),
        tags=case.tags,
        values=case.score.values if case.score else {},
        group=case.score.group if case.score else "",
        error=case.error,
        requests=case.usage.requests,
        cut_replies=sum(tested.get("cut", {}).values()) if (tested := case.replies.get(TESTED)) else None,
        prompt_tokens=case.usage.prompt_tokens,
        completion_tokens=case.usage.completion_tokens,
        usd=case.usage.usd,
        cached_requests=case.usage.cached_requests,
        seconds=case.seconds,
        working_seconds=case.working,
        finished=case.finished,
    )


def _call(case: CaseOutline, number: int, event: Event) -> CallResult:
    detail, is_tool = event.detail, event.kind == "tool"
    texts = [str(each.get("content")) for each in detail.get("result", ()) if each.get("type") == "text"]
    return CallResult(
        task=case.task,
        sample=case.sample,
        attempt=case.attempt,
        number=number,
        is_tool=is_tool,
        name=event.name,
        role=str(detail.get("role", "")).removeprefix("--"),
        start=event.start,
        seconds=event.seconds,
        cached=detail.get("cached"),
        arguments=_json(detail.get("arguments")),
        output="\n".join(texts) if is_tool else str(detail.get("reply") or ""),
        tool_calls=_json(detail.get("tool_calls")),
        error=event.error,
    )


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


# -- comparison


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure in two runs, on the samples that both finished. Shares are in per cent, differences in points."""

    run: str  # the folder of the later run
    model: str
    key: str  # "wild.Task"
    task: str
    name: str
    a: float | None  # in the first run
    b: float | None  # in this one
    difference: float | None  # b - a
    low: float | None  # 95 % interval of the difference, not corrected for other figures
    high: float | None
    p: float | None  # of no difference, two-sided; None for a count
    p_holm: float | None  # the same, corrected for all tests of the comparison
    significant: bool
    detectable: float | None  # true difference that these samples show in about four of five cases
    differing: int  # pairs that differ
    n: int
    is_count: bool


class Comparison(RowList[FigureDifference]):
    """The differences of every figure. ``warnings``: the differences besides the model, a sentence each, which begins
    with the folder of the later run."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        """``found``: the data that ``agentgauge compare --format json`` writes."""
        folders = {run["letter"]: run["path"] for run in found["runs"]}
        self.warnings: Sequence[str] = [
            f"{folders[one['run']]}: {each}" for one in found["comparisons"] for each in one["warnings"]
        ]
        rows = list(_differences(found))
        super().__init__(FigureDifference, len(rows), rows.__getitem__)


def compare(
    first: FinishedRun | str | PathLike[str],
    *others: FinishedRun | str | PathLike[str],
    tasks: Registry | Iterable[Task] = (),
) -> Comparison:
    """Compare runs with the first of them, as ``agentgauge compare`` does: runs, or their folders. ``tasks``: as for
    ``read_run`` (default: those of the first run that has been read).

    Raises UsageProblem for fewer than two runs, more than 26, a folder that is no finished run, and runs without a
    common task.
    """
    from agentgauge_reports.comparison import compare as compare_folders

    runs = (first, *others)
    folders = [run.path if isinstance(run, FinishedRun) else Path(run) for run in runs]
    read = next((run.tasks for run in runs if isinstance(run, FinishedRun)), None)
    return Comparison(compare_folders(folders, Path(), read if read and not tasks else _known(tasks)))


def _differences(found: Mapping[str, Any]) -> Iterator[FigureDifference]:
    runs = {run["letter"]: run for run in found["runs"]}
    for one in found["comparisons"]:
        for task, compared in one["tasks"].items():
            for name, figure in compared["figures"].items():
                yield FigureDifference(
                    run=runs[one["run"]]["path"],
                    model=runs[one["run"]]["model"],
                    key=f"{task}.{name}",
                    task=task,
                    name=name,
                    is_count=figure["count"],
                    **{key: figure[key] for key in _KEYS},
                )


_KEYS = ("a", "b", "difference", "low", "high", "p", "p_holm", "significant", "detectable", "differing", "n")
