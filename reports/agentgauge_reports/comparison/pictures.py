"""The pictures of a comparison, as SVG: the choice between runs, and the differences with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from agentgauge_reports.comparison.choice import MEASURES, written
from agentgauge_reports.comparison.shown import by_reach

# -- a figure against a measure: a run is its letter with a box of both intervals, and the Pareto front is a line

SCATTER = 320, 250  # user units of a drawing
_PLOT = 42, 30, 306, 204  # of these: left, top, right, bottom of the plot

STYLE = """
.choice text, .forest text { fill: var(--ink, #1d2126); font: 12px system-ui, sans-serif } .choice .title { font-weight: 600 } .choice .scale, .forest .scale { fill: var(--soft, #5d6670) }
.choice line, .forest line { stroke: var(--line, #dfe2e5) } .choice .box { fill: var(--soft, #5d6670); fill-opacity: .12 } .choice .whisker { stroke: var(--soft, #5d6670) }
.choice circle { fill: var(--soft, #5d6670) } .choice .front circle { fill: var(--accent, #2459a6) } .choice .front .box { fill: var(--accent, #2459a6) } .choice .front .whisker { stroke: var(--accent, #2459a6) }
.choice .front text { fill: var(--accent, #2459a6); font-weight: 600 } .choice path { fill: none; stroke: var(--accent, #2459a6); stroke-width: 1.5; stroke-dasharray: 4 3 }
.forest { min-width: 640px; width: 100%; font-variant-numeric: tabular-nums } .forest .zero { stroke: var(--ink, #1d2126) } .forest .task { font-weight: 600 }
.forest .interval { stroke: var(--soft, #5d6670); stroke-width: 2 } .forest circle { fill: var(--soft, #5d6670) }
.forest .sure .interval { stroke: var(--accent, #2459a6); stroke-width: 3 } .forest .sure circle { fill: var(--accent, #2459a6) } .forest .sure text { fill: var(--accent, #2459a6); font-weight: 600 }
"""  # noqa: E501
"""Colours are those of the page around a picture; of a picture by itself the light ones."""


def scatters(choice: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    """An SVG for each measure that two of the runs have. ``choice``: one of ``choices``. ``names``: letter → model."""
    for measure in _drawn(choice):
        inside = "\n".join(_scatter(choice, measure, names))
        label = escape(f"{choice['figure']} against {MEASURES[measure]}; the table below has the same figures")
        width, height = SCATTER
        yield f'<svg class="choice" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{inside}</svg>'


def picture(choices: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """All scatter plots as one SVG that needs nothing else; empty where there is none."""
    width, height = SCATTER
    parts = []
    columns = row = 0
    for choice in choices:
        drawn = _drawn(choice)
        for column, measure in enumerate(drawn):
            inside = "\n".join(_scatter(choice, measure, names))
            parts.append(f'<g transform="translate({column * width} {row * height})">{inside}</g>')
        columns, row = max(columns, len(drawn)), row + bool(drawn)
    if not parts:
        return ""
    legend = 18 * len(names) + 12
    for place, (letter, name) in enumerate(names.items()):
        text = escape(f"{letter}: {name}")
        parts.append(f'<text x="12" y="{row * height + 18 * place + 12}">{text}</text>')
    size = f'width="{columns * width}" height="{row * height + legend}"'
    box = f'viewBox="0 0 {columns * width} {row * height + legend}"'
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    opened = f'<svg xmlns="http://www.w3.org/2000/svg" class="choice" {size} {box}><style>{STYLE}</style>{paper}'
    return "\n".join([opened, *parts, "</svg>"])


def _drawn(choice: Mapping[str, Any]) -> list[str]:
    """Tokens are drawn where no dollars are known."""
    return [name for name in choice["fronts"] if name != "tokens" or "usd" not in choice["fronts"]]


def _scatter(choice: Mapping[str, Any], measure: str, names: Mapping[str, str]) -> Iterator[str]:
    rows = [row for row in choice["rows"] if row[measure] is not None]
    left, top, right, bottom = _PLOT
    spreads = [row[measure] for row in rows]
    across = Scale.of([one[end] for one in spreads for end in ("value", "low", "high")], left, right, from_zero=True)
    up = Scale.of([row[end] for row in rows for end in ("value", "low", "high")], bottom, top)
    yield f'<text class="title" x="0" y="12">{escape(_cut(choice["figure"]))}</text>'
    middle = f'x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle"'
    yield f'<text class="scale" {middle}>{MEASURES[measure]}</text>'
    for value in up.ticks:
        y = up.place(value)
        yield f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="scale" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for value in across.ticks:
        x = across.place(value)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>'
        yield f'<text class="scale" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>'
    by_letter = {row["run"]: row for row in rows}
    on = [by_letter[letter] for letter in choice["fronts"][measure]]
    if len(on) > 1:
        points = [(across.place(row[measure]["value"]), up.place(row["value"])) for row in on]
        steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
        yield f'<path d="M{points[0][0]:.1f} {points[0][1]:.1f}{steps}"/>'
    for row in rows:
        yield from _run(row, measure, across, up, names[row["run"]], row in on)


def _run(row: Mapping[str, Any], measure: str, across: Scale, up: Scale, name: str, on_front: bool) -> Iterator[str]:
    spread = row[measure]
    x, y = across.place(spread["value"]), up.place(row["value"])
    told = f"{row['run']}: {name}: {row['value']:.2f}; {written(measure, spread['value'])}"
    kind = ' class="front"' if on_front else ""
    yield f"<g{kind}><title>{escape(told)}</title>"
    tall = None not in (row["low"], row["high"])
    wide = None not in (spread["low"], spread["high"])
    low, high = (up.place(row["low"]), up.place(row["high"])) if tall else (y, y)
    begin, end = (across.place(spread["low"]), across.place(spread["high"])) if wide else (x, x)
    if tall and wide:
        size = f'width="{end - begin:.1f}" height="{low - high:.1f}"'
        yield f'<rect class="box" x="{begin:.1f}" y="{high:.1f}" {size}/>'
    if tall:
        yield f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
    if wide:
        yield f'<line class="whisker" x1="{begin:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/><text x="{x + 6:.1f}" y="{y - 6:.1f}">{row["run"]}</text></g>'


class Scale:
    """A range of values as places on a drawing. Values that differ by more than thirty times stand on a logarithmic
    scale."""

    def __init__(self, low: float, high: float, first: float, last: float, ticks: Sequence[float], log: bool) -> None:
        self._low, self._high, self._first, self._last, self._log = low, high, first, last, log
        self.ticks = ticks

    @classmethod
    def of(cls, values: Sequence[float | None], first: float, last: float, *, from_zero: bool = False) -> Scale:
        """``first``, ``last``: where the least and the largest value are drawn."""
        known = [value for value in values if value is not None]
        low, high = min(known), max(known)
        positive = [value for value in known if value > 0]
        if from_zero and positive and high > 30 * min(positive):
            low = min(positive)
            ends = math.floor(math.log10(low)), math.ceil(math.log10(high))
            ticks = [10.0**power for power in range(ends[0], ends[1] + 1)]
            return cls(ticks[0], ticks[-1], first, last, ticks, True)
        if from_zero:
            low, high = min(low, 0.0), max(high, 0.0)
        step = _step((high - low) or abs(high) or 1.0)
        begin, end = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
        ticks = [round(number * step, 12) for number in range(begin, end + 1)]
        return cls(ticks[0], ticks[-1], first, last, ticks, False)

    def place(self, value: float) -> float:
        low, high = self._low, self._high
        if self._log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        return self._first + (self._last - self._first) * (value - low) / (high - low)


def _step(reach: float) -> float:
    """A round step that a range has three to six of."""
    size: float = 10.0 ** math.floor(math.log10(reach))
    return next(size * part for part in (0.2, 0.25, 0.5, 1.0, 2.0) if reach / (size * part) <= 6)


def _cut(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# -- differences with their intervals as a forest plot: one line a figure, 0 in the middle

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 900, 250, 690, 22, 26  # user units of the drawing
_STEPS = (1, 2, 5, 10, 20, 25, 50)


def forest(one: Mapping[str, Any]) -> str:
    """An SVG of a comparison's published figures, as ``compare`` makes it; empty where none has an interval."""
    tasks = {
        task: {
            name: figure
            for name, figure in by_reach(part["figures"])[0].items()
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
            parts += _forest_row(name, figure, y, reach)
        y += _ROW
    return "\n".join([*parts, "</svg>"])


def _forest_row(name: str, figure: Mapping[str, Any], y: int, reach: float) -> Iterator[str]:
    short = _cut(name)
    low, high, middle = (_x(figure[key], reach) for key in ("low", "high", "difference"))
    kind = ' class="sure"' if figure["significant"] else ""
    yield f'<g{kind}><text x="14" y="{y + 4}">{escape(short)}</text>'
    yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>'
    yield f'<circle cx="{middle:.1f}" cy="{y}" r="4"/>'
    label = f"{figure['difference'] + 0.0:+.1f} ({figure['low'] + 0.0:+.1f} to {figure['high'] + 0.0:+.1f})"
    yield f'<text x="{_WIDTH}" y="{y + 4}" text-anchor="end">{label}</text></g>'


def _x(value: float, reach: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value + reach) / (2 * reach)
