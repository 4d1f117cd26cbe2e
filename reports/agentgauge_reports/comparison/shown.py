"""A comparison for people: its conclusion in one sentence, a text of 80 columns, Markdown, and a small HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Any
from urllib.parse import quote

from agentgauge_reports.text import aligned, fill


def conclusion(letter: str, tasks: Mapping[str, Mapping[str, Any]], *, warned: bool) -> str:
    """A sentence: on how many published figures run ``letter`` is better or worse than A, and which differences could
    have gone unseen.

    ``tasks``: as in ``compare``'s data. More is better in every published figure. ``warned``: the runs differ in more
    than the model.
    """
    figures = [
        figure
        for part in tasks.values()
        for figure in part["figures"].values()
        if figure["published"] and figure["p_holm"] is not None
    ]
    sentence = _sentence(letter, figures) if figures else f"{letter} and A have no published figure that can be tested."
    return sentence + (" The runs differ in more than the model: read the warnings." if warned else "")


def _sentence(letter: str, figures: Sequence[Mapping[str, Any]]) -> str:
    changes = [figure["difference"] for figure in figures if figure["significant"]]
    better, worse = (sum(change * sign > 0 for change in changes) for sign in (1, -1))
    unsure = [figure["detectable"] for figure in figures if not figure["significant"]]
    seen = span(unsure)
    missed = f"a difference of less than {seen} points could have gone unseen"
    if not seen:
        missed = "the runs are too small to show any difference"
    elif " to " in seen:
        missed = f"differences of less than {seen} points, depending on the figure, could have gone unseen"
    missed += too_few(unsure)
    all_of = f"{len(figures)} published figure{'' if len(figures) == 1 else 's'}"
    if not changes:
        return f"No significant difference between {letter} and A on {all_of}; {missed}."
    way, count = ("better", better) if better else ("worse", worse)
    also = f" and worse on {worse}" if better and worse else ""
    rest = "one" if len(unsure) == 1 else str(len(unsure))
    others = f"; on the other {rest}, {missed}" if unsure else ""
    return f"{letter} is {way} than A on {count} of {all_of}{also}{others}."


def span(detectable: Sequence[float | None]) -> str:
    """``6.2``, or ``6.2 to 19.4``: the smallest differences that figures show. Empty where none is large enough."""
    ends = sorted({f"{value:.1f}" for value in detectable if value is not None}, key=float)
    return " to ".join([ends[0], ends[-1]] if len(ends) > 1 else ends)


def too_few(detectable: Sequence[float | None]) -> str:
    """The number of figures that cannot show any difference, as a phrase after ``span``. Empty without such figures."""
    count = sum(value is None for value in detectable)
    if count in (0, len(detectable)):
        return ""
    return f"; {count} figure{' rests' if count == 1 else 's rest'} on too few samples to show any"


# -- text and Markdown

LISTED = 8
"""Flipped samples that a text names; the other forms name all of them."""

_NAME = 23
"""Columns that a figure's name may take in a text; longer ones are cut."""

COLUMNS = ("95 % interval", "p Holm", "MDE")


def text(data: Mapping[str, Any]) -> str:
    """``data``: as ``compare`` makes it."""
    lines = [f"{run['letter']}: {run['path']} ({model_of(run)})" for run in data["runs"]]
    for one in data["comparisons"]:
        lines += ["", *fill("", one["conclusion"])]
        for task, part in one["tasks"].items():
            lines += ["", *_wrapped(heading(task, part)), *_table(part, one["run"])]
            for words, samples in moves(part, one["run"]):
                ids = [sample["sample"] for sample in samples]
                more = f" and {len(ids) - LISTED} more" if len(ids) > LISTED else ""
                lines += _wrapped(f"  {words}: {', '.join(ids[:LISTED])}{more}")
        warnings = (_wrapped(f"warning: {between(one, data)}{reason}") for reason in one["warnings"])
        lines += ["", *chain.from_iterable(warnings)] if one["warnings"] else []
    return "\n".join([*lines, "", *_wrapped(data["note"])])


def markdown(data: Mapping[str, Any]) -> str:
    """``data``: as ``compare`` makes it."""
    lines = [
        "# Comparison",
        "",
        *(f"- {run['letter']}: `{run['path']}` ({_escaped(model_of(run))})" for run in data["runs"]),
    ]
    for one in data["comparisons"]:
        warnings = [f"> **Warning:** {_escaped(reason)}\n>" for reason in one["warnings"]]
        lines += ["", f"## {one['run']} and {one['against']}", "", f"**{one['conclusion']}**"]
        lines += ["", *warnings] if warnings else []
        for task, part in one["tasks"].items():
            lines += ["", f"### {task}", "", f"{heading(task, part).partition(': ')[2]}.", ""]
            lines += ["| figure | " + " | ".join((*letters(one["run"]), *COLUMNS)) + " |", "|---|" + "--:|" * 6]
            for name, figure in part["figures"].items():
                lines.append(f"| {_escaped(name)} | " + " | ".join(cells(figure)) + " |")
            for words, samples in moves(part, one["run"]):
                links = (
                    f"{_escaped(each['sample'])} ([A](<{each['a']}>), [{one['run']}](<{each['b']}>))"
                    for each in samples
                )
                lines += ["", f"{words}: {', '.join(links)}"]
    return "\n".join([*lines, "", _escaped(data["note"]), ""])


def model_of(run: Mapping[str, Any]) -> str:
    """``gpt-4o``, or ``gpt-4o, --limit=16`` where this option chose the samples."""
    return ", ".join(filter(None, [run["model"], run["limit"]]))


def heading(task: str, part: Mapping[str, Any]) -> str:
    """``gta_atomic.e2e: 41 common samples, 1 broken in A``."""
    counts = [f"{part['common']} common sample{'' if part['common'] == 1 else 's'}"]
    if part["units"] != part["common"]:
        counts[0] += f" in {part['units']} group{'' if part['units'] == 1 else 's'}"
    if part["whole"] not in (None, part["units"]):
        counts[0] += f", of which {part['whole'] or 'none'} {'is' if part['whole'] == 1 else 'are'} whole"
    if part["left_out"]:
        counts.append("left out: " + ", ".join(f"{count} {reason}" for reason, count in part["left_out"].items()))
    return f"{task}: {'; '.join(counts)}"


def letters(letter: str) -> tuple[str, str, str]:
    return "A", letter, f"{letter} - A"


def moves(part: Mapping[str, Any], letter: str) -> Iterator[tuple[str, Sequence[Mapping[str, str]]]]:
    """The samples that only one of the runs passed, or passed more often, for each direction that occurs."""
    for way, more, less in (("gained", letter, "A"), ("lost", "A", letter)):
        if samples := part[way]:
            partly = any(0 < share < 1 for sample in samples for share in sample["passed"])
            yield (
                f"{len(samples)} passed " + (f"more often in {more}" if partly else f"in {more}, not in {less}"),
                samples,
            )


def cells(figure: Mapping[str, Any]) -> list[str]:
    """A, B, difference, interval, p, detectable difference."""
    low, high, p, detectable = (figure[key] for key in ("low", "high", "p_holm", "detectable"))
    both = (figure["a"], figure["b"])
    places = 0 if figure["count"] and all(float(value or 0).is_integer() for value in both) else 2
    return [
        *("-" if value is None else f"{value:.{places}f}" for value in both),
        "" if figure["difference"] is None else f"{round(figure['difference'], 2) + 0.0:+.{places}f}",
        "" if low is None else f"{round(low, 1) + 0.0:+.1f} to {round(high, 1) + 0.0:+.1f}",
        "" if p is None else chance(p) + ("*" if figure["significant"] else ""),
        "" if low is None else "-" if detectable is None else f"{detectable:.1f}",
    ]


def chance(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}"


def between(one: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The names of the compared runs, if there are more than two."""
    return f"{one['run']} and A: " if len(data["comparisons"]) > 1 else ""


def _table(part: Mapping[str, Any], letter: str) -> list[str]:
    rows = [
        ["", *letters(letter), *COLUMNS],
        *(
            [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…", *cells(figure)]
            for name, figure in part["figures"].items()
        ),
    ]
    for row in rows:  # the star hangs outside its column
        row[5] = row[5] if row[5].endswith("*") else f"{row[5]} "
    return list(aligned(rows))


def _wrapped(line: str) -> list[str]:
    return fill("", line, hanging="    ")


def _escaped(value: str) -> str:
    """Text of others in Markdown: no table cell, link, or tag."""
    for sign in "\\`*_[]<>|":
        value = value.replace(sign, f"\\{sign}")
    return " ".join(value.split())


# -- differences with their intervals as a forest plot: one line a figure, 0 in the middle

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 900, 250, 690, 22, 26  # user units of the drawing
_LABEL = 34  # characters of a figure's name
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
            parts += _forest_row(name, figure, y, reach)
        y += _ROW
    return "\n".join([*parts, "</svg>"])


def _forest_row(name: str, figure: Mapping[str, Any], y: int, reach: float) -> Iterator[str]:
    short = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
    low, high, middle = (_x(figure[key], reach) for key in ("low", "high", "difference"))
    yield f'<g{" class=sure" if figure["significant"] else ""}><text x="14" y="{y + 4}">{escape(short)}</text>'
    yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>'
    yield f'<circle cx="{middle:.1f}" cy="{y}" r="4"/>'
    label = f"{figure['difference'] + 0.0:+.1f} ({figure['low'] + 0.0:+.1f} to {figure['high'] + 0.0:+.1f})"
    yield f'<text x="{_WIDTH}" y="{y + 4}" text-anchor="end">{label}</text></g>'


def _x(value: float, reach: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value + reach) / (2 * reach)


# -- the page, which needs nothing else

_STYLE = """
html { background: var(--paper); color: var(--ink) }
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2126; --line: #8884; --sure: #1d4ed8; --soft: #8881; --soft-ink: #6b7280; --yes: #1b6e3c; --no: #955800 }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e4e7ea; --sure: #93c5fd; --soft-ink: #98a2ad; --yes: #63c08a; --no: #e0a64a } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin: 2rem 0 .3rem }
.wide { overflow-x: auto } code { overflow-wrap: anywhere }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child { text-align: left; padding-left: 0 } thead th { font-weight: 500; opacity: .85 }
tbody th { font-weight: 400 } tr.sure * { font-weight: 600; color: var(--sure) }
.warning { border-left: 3px solid #d97706; padding: .3rem .8rem; background: var(--soft); margin: .5rem 0 }
.conclusion { font-size: 1.15rem; font-weight: 600; text-wrap: pretty } a { color: var(--sure) } :target { background: var(--soft) }
.cases td, .cases th { text-align: left } .cases th { white-space: normal; overflow-wrap: anywhere } .yes { color: var(--yes) } .no { color: var(--no) }
details { margin: .4rem 0 } summary { cursor: pointer } footer { margin: 3rem 0; opacity: .9; max-width: 45rem }
"""  # noqa: E501

_OPEN = 20
"""Flipped samples up to which their table is open from the start."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(data: Mapping[str, Any], *, home: str = "") -> str:
    """``data``: as ``compare`` makes it. Everything in it is text, never markup. ``home``: the
    address of the list of runs, if the page is served beside one."""
    back = f'<p><a href="{escape(home)}">All runs</a></p>' if home else ""
    title = "Comparison of " + ", ".join(run["model"] for run in data["runs"])
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy"'
        f' content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{STYLE}</style></head>",
        f"<body><main>{back}<h1>Comparison</h1><ul>",
        *(
            f"<li>{run['letter']}: {escape(model_of(run))} <code>{escape(run['path'])}</code></li>"
            for run in data["runs"]
        ),
        "</ul>",
    ]
    models = {run["letter"]: model_of(run) for run in data["runs"]}
    for one in data["comparisons"]:
        both = " and ".join(f"{letter} ({models[letter]})" for letter in (one["run"], one["against"]))
        parts.append(f"<h2>{escape(both)}</h2>")
        parts.append(f'<p class="conclusion">{escape(one["conclusion"])}</p>')
        parts += [f"<p class=warning>Warning: {escape(between(one, data) + reason)}</p>" for reason in one["warnings"]]
        if plot := forest(one):
            parts.append(f'<div class="wide" tabindex="0" role="region" aria-label="Forest plot">{plot}</div>')
        for task, part in one["tasks"].items():
            parts += _task_section(task, part, one["run"])
    return "\n".join([*parts, f"<footer>{escape(data['note'])}</footer></main></body></html>", ""])


def _task_section(task: str, part: Mapping[str, Any], letter: str) -> Iterator[str]:
    yield f"<h3>{escape(task)}</h3><div>{escape(heading(task, part).partition(': ')[2])}</div>"
    yield '<div class="wide" tabindex="0"><table><thead><tr><th scope="col">figure</th>'
    yield "".join(f'<th scope="col">{name}</th>' for name in (*letters(letter), *COLUMNS)) + "</tr></thead><tbody>"
    for name, figure in part["figures"].items():
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells(figure))
        yield f'<tr{" class=sure" if figure["significant"] else ""}><th scope="row">{escape(name)}</th>{row}</tr>'
    yield "</tbody></table></div>"
    if flips := list(moves(part, letter)):
        count = sum(len(samples) for _, samples in flips)
        title = "; ".join(words for words, _ in flips)
        yield f'<details{" open" if count <= _OPEN else ""}><summary>{title}</summary><div class="wide" tabindex="0">'
        heads = "".join(f'<th scope="col">{name}</th>' for name in ("sample", "A", letter))
        yield f'<table class="cases"><thead><tr>{heads}</tr></thead><tbody>'
        for _, samples in flips:
            yield from (_flip(f"{letter}/{task}/{each['sample']}", each) for each in samples)
        yield "</tbody></table></div></details>"


def _flip(name: str, each: Mapping[str, Any]) -> str:
    """A sample's row, which a link to ``#B/TASK/SAMPLE`` finds; its cells lead to the case in each run's page."""
    sample = f'<a href="#{escape(quote(name, errors="replace"))}">{escape(each["sample"])}</a>'
    sides = zip((each["a"], each["b"]), each["passed"], strict=True)
    cells = (
        f'<td><a class="{"yes" if share else "no"}" href="{escape(link)}">{_outcome(share)}</a></td>'
        for link, share in sides
    )
    return f'<tr id="{escape(name)}"><th scope="row">{sample}</th>{"".join(cells)}</tr>'


def _outcome(share: float) -> str:
    return {0.0: "not passed", 1.0: "passed"}.get(share, f"{100 * share:.0f} % passed")
