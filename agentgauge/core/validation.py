"""Checks of a task that need no data: one sentence for the first thing that would fail later."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.presentation import BREAKS, FAULTS, SEVERITIES, CombinedScores, Presentation
from agentgauge.core.published import Leaderboard, Published
from agentgauge.core.task import DataSource, Pictures, PredictionFiles, Prompts, RealTools, Similarity, Task
from agentgauge.core.task_options import TaskOption

_TEXT = ("name", "data.name", "presentation.benchmark", "presentation.title")
_TEXTS = (
    *("dialects", "data.files", "data.folders"),
    *(f"presentation.{name}" for name in ("columns", "counts", "published")),
    "published.dialects",
)
_PARTS: Mapping[str, type] = {
    "presentation": Presentation,
    "published": Published,
    "combined": CombinedScores,
    "prompts": Prompts,
    "files": PredictionFiles,
    "tools": RealTools,
    "similarity": Similarity,
    "pictures": Pictures,
}
_OPTION = re.compile(r"--[a-z0-9]+(-[a-z0-9]+)*")

Made = TypeVar("Made")


class _Wrong(Exception):
    """The problem of a task, as the rest of a sentence that begins "the task NAME"."""


_found_complete: WeakSet[Task] = WeakSet()
"""They do not change, and a process may make many registries of them."""


def complete(task: Task) -> Task:
    """The task. Raises UsageProblem with one sentence that says what is wrong with it and what would be right."""
    if not isinstance(task, Task):
        raise UsageProblem(f"{task!r} is not a task; announce an agentgauge.Task")
    try:
        if task not in _found_complete:
            _check(task)
    except _Wrong as wrong:
        raise UsageProblem(f"the task {task.name} {wrong}; see docs/adding-a-benchmark.md") from wrong.__cause__
    _found_complete.add(task)
    return task


def _check(task: Task) -> None:
    """Later checks rely on earlier ones. Raises _Wrong."""
    if missing := _missing(task.data):
        raise _Wrong(f"lacks {', '.join(f'data.{name}' for name in missing)}")
    _check_attributes(task)
    for name, declared in _FUNCTIONS.items():
        if (own := _part(task, name)) is not None:
            _check_call(name, own, declared)
    _check_methods(type(task.data), "data.")
    for name, part in (("tools", task.tools), ("similarity", task.similarity)):
        if part is not None:
            _check_methods(type(part), f"{name}.")
    _check_figures(task)
    if published := task.published:
        _check_published(task, published)
        _check_leaderboards(task, _made("published.leaderboards()", published.leaderboards))
    _check_options(task.options)
    if combined := task.combined:
        _check_combined(_made("combined.combine({})", lambda: combined.combine({})))
    if breakdowns := task.breakdowns:
        _made('breakdowns((), "parity")', lambda: breakdowns((), "parity"))
    for name, write in task.files.exporters.items() if task.files else ():
        _check_call(f"the exporter {name}", write, _as_exporter)


def _part(task: Task, name: str) -> Any:
    """``presentation.notes`` of a task, for example; None where it has no presentation."""
    part: Any = task
    for word in name.split("."):
        part = None if part is None else getattr(part, word)
    return part


def _missing(value: object) -> list[str]:
    """Public attributes that the value's classes annotate, and that it has not."""
    annotated = dict.fromkeys(name for base in type(value).__mro__ for name in inspect.get_annotations(base))
    return sorted(name for name in annotated if not name.startswith("_") and not hasattr(value, name))


def _check_attributes(task: Task) -> None:
    if not isinstance(task.data, DataSource):
        raise _Wrong(f"has data {task.data!r}; it must be an object of a class that inherits DataSource")
    for name, kind in _PARTS.items():
        if not isinstance(value := getattr(task, name), kind | None):
            raise _Wrong(f"has {name} {value!r}; it must be a {kind.__name__}")
    for name in (*_TEXT, *_TEXTS):
        owner = name.rpartition(".")[0]
        if owner and getattr(task, owner) is None:
            continue
        value = _part(task, name)
        if name in _TEXT and not (isinstance(value, str) and value.strip()):
            raise _Wrong(f"has {name} {value!r}; it must be a string")
        if name in _TEXTS and not _are_texts(value):
            raise _Wrong(f"has {name} {value!r}; it must be a tuple of strings")
    if (shown := task.presentation) and shown.severity not in SEVERITIES:
        raise _Wrong(f"has presentation.severity {shown.severity!r}; it must be one of {', '.join(SEVERITIES)}")
    if not task.name.replace(".", "_").isidentifier():
        raise _Wrong("has a name that cannot be a pytest marker; use letters, digits, underscores and dots")
    if not isinstance(task.data.bundled, Path):
        raise _Wrong(f"has data.bundled {task.data.bundled!r}; it must be a Path")


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple | list | set | frozenset) and all(isinstance(each, str) for each in value)


@cache
def _check_methods(kind: type, prefix: str) -> None:
    """Each method must take what the class of ``agentgauge.core`` that declares it says. Once for all tasks of a class:
    looking at signatures takes its time."""
    for base in kind.__mro__:
        if base.__module__.startswith("agentgauge.core."):
            for name, declared in vars(base).items():
                own = getattr(kind, name)
                if inspect.isfunction(declared) and not name.startswith("_") and own is not declared:
                    is_plain = inspect.isfunction(inspect.getattr_static(kind, name))  # its first parameter is self
                    _check_call(prefix + name, partial(own, None) if is_plain else own, declared, is_method=True)


def _check_call(name: str, own: Any, declared: Callable[..., Any], *, is_method: bool = False) -> None:
    """``declared`` says how ``own`` is called: positional parameters by place, keyword-only ones by name."""
    by_place, by_name = _parameters(declared)
    by_place = by_place[is_method:]
    call = f"({', '.join([*by_place, *(f'{each}=…' for each in by_name)])})"
    if not callable(own):
        raise _Wrong(f"has {name} {own!r}; it must be a function, which is called as {call}")
    if inspect.iscoroutinefunction(declared) and not inspect.iscoroutinefunction(own):
        raise _Wrong(f"has {name} without async; write async def {name}")
    if inspect.iscoroutinefunction(own) and not inspect.iscoroutinefunction(declared):
        raise _Wrong(f"has {name} with async; write def {name}")
    try:
        inspect.signature(own).bind(*by_place, **dict.fromkeys(by_name))
    except TypeError as error:
        raise _Wrong(f"has {name} with other parameters ({error}); it is called as {call}") from None


@cache
def _parameters(declared: Callable[..., Any]) -> tuple[list[str], list[str]]:
    wanted = inspect.signature(declared).parameters.values()
    return (
        [each.name for each in wanted if each.kind is not each.KEYWORD_ONLY],
        [each.name for each in wanted if each.kind is each.KEYWORD_ONLY],
    )


# How functions of a task and its parts are called: see ``agentgauge.core.task``, ``presentation`` and ``published``.


def _as_exporter(results: object, folder: Path, *, model: str, scoring: str) -> None: ...


async def _as_run(case: object) -> None: ...


async def _as_agents(case: object, agent: object) -> None: ...


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "run": _as_run,
    "score": lambda sample, output, scoring, similarity: None,
    "metrics": lambda scoring: None,
    "configured": lambda chosen: None,
    "check_options": lambda root: None,
    "breakdowns": lambda scores, scoring: None,
    "oracle": lambda sample, request, *, one_call: None,
    "agents": _as_agents,
    "presentation.notes": lambda metrics: None,
    "presentation.doubts": lambda part: None,
    "presentation.artifacts": lambda output, score, scoring: None,
    "presentation.category": lambda tags: None,
    "published.leaderboards": lambda: None,
    "published.not_comparable": lambda chosen: None,
    "published.not_official": lambda differences: None,
    "combined.combine": lambda scores: None,
    "prompts.version": lambda folder: None,
    "prompts.note": lambda version, chosen: None,
    "files.score": lambda samples, predictions, *, scoring, similarity: None,
    "pictures.shown_to": lambda tags: None,
}


def _made(what: str, make: Callable[[], Made]) -> Made:
    try:
        return make()
    except UsageProblem:
        raise  # says what to do
    except Exception as error:  # of the task's own code
        raise _Wrong(f"fails at {what}, before any case: {type(error).__name__}: {error}") from error


def _check_figures(task: Task) -> None:
    """Where nothing is scored there are all figures, without a value where they have no denominator."""
    for scoring in ("parity", "strict"):
        formula = _made(f"metrics({scoring!r})", partial(task.metrics, scoring))
        if not isinstance(formula, MetricFormula):
            raise _Wrong(f"has metrics that return {formula!r}; return a MetricFormula")
        figures = _made("its metrics of no sample", partial(formula.compute, {}))
        if not isinstance(figures, Mapping) or not figures:
            raise _Wrong(f"has metrics that return {figures!r} for no samples; return figures by name")
        shown = task.shown
        if not shown.published:
            raise _Wrong("publishes no column; its headline is one of ``published``")
        if strange := _outside(shown.kinds.values(), (*FAULTS, *BREAKS)):
            raise _Wrong(f"has labels of the kinds {strange}; kinds are {', '.join((*FAULTS, *BREAKS))}")
        if wrong := [name for name, keywords in shown.skills.items() if not _are_texts(keywords)]:
            raise _Wrong(f"has the skill {wrong[0]} of {shown.skills[wrong[0]]!r}; it must be a tuple of keywords")
        columns, known = set(shown.columns), ", ".join(figures)
        if strange := _outside((*shown.published, *shown.counts, *shown.leaderboard_columns), columns):
            raise _Wrong(f"lacks {strange} among its columns; add them to ``columns``")
        for name in filter(None, (shown.headline, shown.second_headline)):
            if name not in shown.published:
                raise _Wrong(f"has the headline {name}, which it does not publish; it publishes {shown.published}")
        if strange := _outside(shown.published, figures):
            raise _Wrong(f"publishes {strange}, which its metrics do not compute; they compute {known}")
        if strange := _outside((*(formula.rests_on or ()), *formula.scale), {*figures, *columns}):
            raise _Wrong(f"has rests_on or scale for {strange}, which is not a figure; figures are {known}")


def _outside(names: Iterable[str], known: Iterable[str]) -> str:
    return ", ".join(name for name in dict.fromkeys(names) if name not in known)


def _check_published(task: Task, published: Published) -> None:
    if not published.dialects:
        raise _Wrong("has no published.dialects; name the one that most published figures were made with first")
    if strange := _outside(published.dialects, task.dialects):
        raise _Wrong(f"has published.dialects {strange}, which it does not support; add them to ``dialects``")
    shown = task.shown
    columns = [shown.leaderboard_columns.get(name, name) for name in shown.published]
    for row in published.rows:
        if lacking := [name for name in ("edition", "model") if not isinstance(row.get(name), str)]:
            raise _Wrong(f"has a published row without {lacking[0]}: {dict(row)!r}")
        where = f"has a published row of {row['model']} with"
        if strange := _outside(row, ("edition", "model", *columns)):
            raise _Wrong(f"{where} {strange}, which is not a published column; these are {', '.join(columns)}")
        if wrong := [name for name in columns if not isinstance(row.get(name), int | float | None)]:
            raise _Wrong(f"{where} {wrong[0]} {row[wrong[0]]!r}; it must be a number or None")


def _check_leaderboards(task: Task, boards: Iterable[Leaderboard]) -> None:
    """Columns of other parts are the business of those."""
    for board in boards:
        own = [column.name for column in board.columns if column.part == task.name]
        if strange := _outside(own, task.shown.columns):
            raise _Wrong(f"has a leaderboard {board.title!r} with {strange}, which is none of its columns")
        keys, models = {column.key for column in board.columns}, {row["model"] for row in board.rows}
        for note in board.footnotes:
            if strange := _outside(note.columns, keys) or _outside(note.models, models):
                raise _Wrong(f"has a leaderboard {board.title!r} with a footnote to {strange}, which it does not have")


def _check_options(options: object) -> None:
    if not isinstance(options, tuple | list) or not all(isinstance(option, TaskOption) for option in options):
        raise _Wrong(f"has options {options!r}; it must be a tuple of TaskOption")
    for option in options:
        if not _OPTION.fullmatch(option.name):
            raise _Wrong(f"has an option {option.name!r}; write it as --some-name")
        if not option.help.strip():
            raise _Wrong(f"has the option {option.name} without help; describe what it does and its default")
        if option.accepted and option.default is not None:
            raise _Wrong(
                f"has the option {option.name} with ``accepted`` and ``default``; the first accepted value is it"
            )
        if option.model and option.default is None:
            raise _Wrong(f"has the option {option.name} of a model without ``default``; give one, such as SAME")


def _check_combined(parts: Mapping[str, Mapping[str, Any]]) -> None:
    for part, scores in parts.items():
        for name, score in scores.items():
            if not isinstance(score, Mapping) or not {"value", "missing"} <= score.keys():
                raise _Wrong(f"returns the combined score {part}: {name} {score!r}; return ``value`` and ``missing``")
