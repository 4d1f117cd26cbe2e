"""The decorator of a benchmark of one file: announces its task, and puts its test function into the file."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import pytest

from agentgauge.core.task_registry import announce, known_tasks
from agentgauge.pytest_plugin.fixtures import Outcome
from agentgauge.short_form.task import Metric, ShortTask, short_task

Author = TypeVar("Author", bound=type[Any])


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
) -> Callable[[Author], Author]:
    """Make a benchmark from a class with ``async run(self, case)``, ``score(self, sample, answer)`` and optionally
    ``oracle(self, sample)``; docs/adding-a-benchmark.md has an example.

    ``data``: a file of samples, or several, as JSON Lines, JSON or CSV; paths start at the class's file. ``gold``: a
    file with an entry for each sample, which becomes the sample's field ``gold``. ``metrics``: column →
    ``mean VALUE``, ``average VALUE``, ``sum VALUE`` or a function of the sums (agentgauge.short_form.task); without
    it the share of passed samples. ``published``: a JSON list of ``{"model": ..., column: figure}``. ``tags``: fields
    of a sample that are keywords for ``-k``. ``id``: the field with the sample's id. ``excerpt``: the data is only a
    part of the data behind the published figures.

    Raises UsageProblem with one sentence that says what is wrong.
    """

    def announce_class(author: Author) -> Author:
        made = short_task(
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
        known = known_tasks().get(name)
        # pytest may import a file again under another name: the run has begun with the task of the first time
        if not (isinstance(known, ShortTask) and known.file == made.file):
            announce(made)
        test = _test(f"test_{name.replace('.', '_')}", author, made.file)
        setattr(sys.modules[author.__module__], test.__name__, pytest.mark.benchmark_task(name)(test))
        return author

    return announce_class


def _test(name: str, author: type[Any], file: Path) -> FunctionType:
    """A test function of that name, which pytest finds in the author's file at the line of the class."""

    def check(outcome: Outcome) -> None:
        outcome.check()

    line = inspect.getsourcelines(author)[1]
    code = check.__code__.replace(co_filename=str(file), co_firstlineno=line, co_name=name, co_qualname=name)
    test = FunctionType(code, {"__name__": author.__module__}, name)
    test.__module__ = author.__module__
    return test
