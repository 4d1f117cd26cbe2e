"""Differences with their intervals as a forest plot: one line a figure, 0 in the middle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 900, 250, 690, 22, 26  # user units of the drawing
_NAME = 34  # characters of a figure's name
_STEPS = (1, 2, 5, 10, 20, 25, 50)

STYLE = """
.forest { min-width: 640px; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums } .forest text { fill: currentColor }
.forest line { stroke: var(--line) } .forest .zero { stroke: currentColor } .forest .task { font-weight: 600 } .forest .scale { opacity: .75 }
.forest .interval { stroke: var(--soft-ink); stroke-width: 2 } .forest circle { fill: var(--soft-ink) }
.forest .sure .interval { stroke: var(--sure); stroke-width: 3 } .forest .sure circle { fill: var(--sure) } .forest .sure text { fill: var(--sure); font-weight: 600 }
"""  # noqa: E501


def forest(one: Mapping[str, Any]) -> str:
    """An SVG of a comparison's published figures, as ``compare`` makes it; empty where none has an interval."""
    tasks = {
        task: {
            name: figure
            for name, figure in part["figures"].items()
            if figure["published"] and figure["low"] is not None
        }
        for task, part in one["tasks"].items()
    }
    tasks = {task: figures for task, figures in tasks.items() if figures}
    if not tasks:
        return ""
    most = max(abs(figure[end]) for figures in tasks.values() for figure in figures.values() for end in ("low", "high"))
    step = next((step for step in _STEPS if most <= 4 * step), _STEPS[-1])
    reach = step * max(1, -(-most // step))
    height = _TOP + _ROW * sum(len(figures) + 1 for figures in tasks.values()) + 6
    label = f"Differences {one['run']} - {one['against']} with 95 % intervals; the tables below have the same figures"
    parts = [f'<svg class="forest" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">']
    for value in range(int(-reach), int(reach) + 1, step):
        x = _x(value, reach)
        kind = ' class="zero"' if value == 0 else ""
        parts.append(f'<line{kind} x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height}"/>')
        parts.append(
            f'<text class="scale" x="{x:.1f}" y="14" text-anchor="middle">{f"{value:+d}" if value else 0}</text>'
        )
    y = _TOP + _ROW // 2
    for task, figures in tasks.items():
        parts.append(f'<text class="task" x="0" y="{y + 4}">{escape(task)}</text>')
        for name, figure in figures.items():
            y += _ROW
            parts += _row(name, figure, y, reach)
        y += _ROW
    return "\n".join([*parts, "</svg>"])


def _row(name: str, figure: Mapping[str, Any], y: int, reach: float) -> Iterator[str]:
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    low, high, middle = (_x(figure[key], reach) for key in ("low", "high", "difference"))
    yield f'<g{" class=sure" if figure["significant"] else ""}><text x="14" y="{y + 4}">{escape(short)}</text>'
    yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>'
    yield f'<circle cx="{middle:.1f}" cy="{y}" r="4"/>'
    label = f"{figure['difference'] + 0.0:+.1f} ({figure['low'] + 0.0:+.1f} to {figure['high'] + 0.0:+.1f})"
    yield f'<text x="{_WIDTH}" y="{y + 4}" text-anchor="end">{label}</text></g>'


def _x(value: float, reach: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value + reach) / (2 * reach)
