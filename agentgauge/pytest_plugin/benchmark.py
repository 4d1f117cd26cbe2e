"""The decorator of a benchmark of one file: makes its task, for which pytest finds a test in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task import Task
from agentgauge.pytest_plugin.fixtures import Solve
from agentgauge.pytest_plugin.options import registry_of
from agentgauge.short_form.task import Metric, author_of, short_task

if TYPE_CHECKING:
    from agentgauge.run.given_objects import Model


def benchmark(
    name: str,
    *,
    data: str | Sequence[str],
    gold: str | None = None,
    title: str = "",
    metrics: Mapping[str, Metric] | None = None,
    published: str | None = None,
    tags: Sequence[str] = (),
    id: str = "id",
    excerpt: bool = False,
) -> Callable[[type[Any]], Task]:
    """Make a ``Task`` from a class with ``async run(self, case)``, ``score(self, sample, answer)`` and optionally
    ``oracle(self, sample)``; docs/adding-a-benchmark.md has an example. The class's name is then that of the task;
    ``agentgauge.authoring.author_of`` gives the class.

    ``data``: a file of samples, or several, as JSON Lines, JSON or CSV; paths start at the class's file. ``gold``: a
    file with an entry for each sample, which becomes the sample's field ``gold``. ``metrics``: column →
    ``mean VALUE``, ``average VALUE``, ``sum VALUE`` or a function of the sums (agentgauge.short_form.task); without
    it the share of passed samples. ``published``: a JSON list of ``{"model": ..., column: figure}``. ``tags``: fields
    of a sample that are keywords for ``-k``. ``id``: the field with the sample's id. ``excerpt``: the data is only a
    part of the data behind the published figures.

    Raises UsageProblem with one sentence that says what is wrong.
    """

    def made(author: type[Any]) -> Task:
        return short_task(
            author,
            name,
            data=data,
            gold=gold,
            title=title,
            metrics=metrics,
            published=published,
            tags=tags,
            id=id,
            excerpt=excerpt,
        )

    return made


def collect(collector: pytest.Module, task: Task) -> list[pytest.Item | pytest.Collector] | None:
    """The test of a benchmark of one file, shown at the class's place in it. None for a task that is not made there."""
    author, module = author_of(task), collector.obj
    if author is None or author.__module__ != module.__name__:
        return None
    name = f"test_{task.name.replace('.', '_')}"
    if hasattr(module, name):  # the author's own test, or this one, if the file is collected again
        return None

    tasks = registry_of(collector.config)
    if task.name not in tasks:
        try:
            tasks.add(task)
        except UsageProblem as problem:
            raise pytest.Collector.CollectError(str(problem)) from None

    @pytest.mark.benchmark_task(task.name)
    def check(sample: str, model: Model, solve: Solve) -> None:
        outcome = solve(sample, model)
        assert outcome.passed, outcome.explanation

    check.place_as = author  # type: ignore[attr-defined]
    setattr(module, name, check)  # where pytest looks for what an item calls
    found: list[pytest.Item | pytest.Collector] | None = collector.ihook.pytest_pycollect_makeitem(
        collector=collector, name=name, obj=check
    )
    return found
