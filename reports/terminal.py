"""What a run prints at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.task import find_task
from reports.leaderboard import not_comparable, number

SHOWN = 5
"""Wrong and broken cases that are each listed without ``-v``."""


def tables(summary: Mapping[str, Any]) -> Iterator[str]:
    """Two lines of figures per task: how the cases ended, and the metrics with their 95 % intervals."""
    for name, part in summary["tasks"].items():
        task = find_task(name)
        yield (
            f"{name}: {part['planned']} planned · {part['passed']} passed · {part['wrong']} wrong"
            f" · {part['broken']} broken · {part['missing']} missing"
        )
        metrics = part["metrics"]
        names = [column for column in task.columns if column in metrics]
        counts = {column for column in names if column not in task.published}
        cells = [(column, number(metrics[column]["value"], count=column in counts), _interval(metrics[column])) for column in names]
        if any("value_clean" in metrics[column] for column in names):
            cells = [(c, v + f" (clean {number(metrics[c]['value_clean'])})", i) for c, v, i in cells]
        widths = [max(map(len, cell)) for cell in cells]
        for label, line in zip(("", "value", "95 %"), zip(*cells, strict=True), strict=True):
            yield f"    {label:5}  " + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        reasons = not_comparable(summary["run"], task, part)
        if reasons:
            yield f"    not comparable with published rows: {'; '.join(reasons)}"
        for cause, count in part["causes"].items():
            yield f"    broken: {count} × {cause}"
        yield ""


def explanations(status: str, texts: Sequence[tuple[str, str]], *, full: bool) -> Iterator[str]:
    """Why cases are wrong or broken, from pairs of node id and text: the first few by their first line, all whole with ``-v``."""
    for node, text in texts if full else texts[:SHOWN]:
        yield f"{status}  {node}"
        for line in text.splitlines() if full else text.splitlines()[:1]:
            yield f"    {line}"
    if not full and len(texts) > SHOWN:
        yield f"    ... and {len(texts) - SHOWN} more {status}; -v shows them all"


def _interval(metric: Mapping[str, Any]) -> str:
    if metric["low"] is None:
        return ""
    return f"{metric['low']:.1f}–{metric['high']:.1f}"
