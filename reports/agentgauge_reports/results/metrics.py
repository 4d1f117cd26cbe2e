"""The figures of a run, each under a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentgauge.core.capabilities import headline_of, presentation_of
from agentgauge.core.errors import did_you_mean
from agentgauge.core.task import Task
from agentgauge.core.task_registry import find_task
from agentgauge_reports.leaderboard import by_benchmark
from agentgauge_reports.leaderboards import mostly_broken
from agentgauge_reports.notices import limit_of
from agentgauge_reports.pass_at_k import by_name
from agentgauge_reports.results.rows import MetricResult
from agentgauge_reports.results.table import Table


class Metrics(Table[MetricResult]):
    """The figures of a run. ``metrics["wild.Task"]`` is one of them; iterating gives all."""

    def __init__(self, summary: Mapping[str, Any]) -> None:
        """``summary``: the content of summary.json."""
        self._found = {one.key: one for one in _figures(summary)}
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


def _figures(summary: Mapping[str, Any]) -> Iterator[MetricResult]:
    for name, part in summary["tasks"].items():
        task = find_task(name)
        for metric, figure in (part["metrics"] | by_name(part)).items():
            yield _figure(task, part, metric, figure, limit_of(summary, [name]))
    for benchmark, parts in summary["capabilities"].items():
        limit = limit_of(summary, [task.name for task in by_benchmark(summary)[benchmark]])
        for group, scores in parts.items():
            for score, figure in scores.items():
                yield _combined(benchmark, f"{group}.{score}", figure, limit)


def _figure(task: Task, part: Mapping[str, Any], name: str, figure: Mapping[str, Any], limit: str) -> MetricResult:
    shown = presentation_of(task)
    return MetricResult(
        key=f"{task.name}.{name}",
        benchmark=shown.benchmark,
        task=task.name,
        name=name,
        is_headline=name == headline_of(task),
        is_count=name in shown.counts,
        is_comparable=part.get("comparable", False),
        limit=limit,
        warning="; ".join(filter(None, (mostly_broken(part), *shown.doubts(part)))),
        **{key: figure.get(key) for key in _NUMBERS},
    )


def _combined(benchmark: str, name: str, figure: Mapping[str, Any], limit: str) -> MetricResult:
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
