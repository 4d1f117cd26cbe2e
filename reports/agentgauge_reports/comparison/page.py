"""A comparison as one small HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from agentgauge_reports.comparison.forest import STYLE, forest
from agentgauge_reports.comparison.text import COLUMNS, between, cells, heading, letters, model_of, moves

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
            parts += _task(task, part, one["run"])
    return "\n".join([*parts, f"<footer>{escape(data['note'])}</footer></main></body></html>", ""])


def _task(task: str, part: Mapping[str, Any], letter: str) -> Iterator[str]:
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
