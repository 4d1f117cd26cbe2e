"""A comparison as one page that needs nothing else: which run to take, what differs significantly, and every case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge_reports.comparison.choice import MEASURES, written
from agentgauge_reports.comparison.pictures import STYLE, forest, picture, scatters
from agentgauge_reports.comparison.shown import (
    COLUMNS,
    between,
    by_reach,
    cells,
    few_samples,
    heading,
    letters,
    model_of,
)
from agentgauge_reports.text import policy_hash

_HERE = Path(__file__).parent

LISTED = 20_000
"""Cases that the page has; of more, those with the same outcome in all runs are left out."""


def policy() -> str:
    """The page's Content-Security-Policy: our script and style, known by their hashes; frames of pages beside it, which
    show transcripts."""
    return (
        f"default-src 'none'; script-src '{policy_hash(_script())}'; style-src '{policy_hash(_style())}';"
        " img-src data:; frame-src 'self' file:; base-uri 'none'; form-action 'none'"
    )


def page(data: Mapping[str, Any], *, home: str = "") -> str:
    """``data``: as ``compare`` makes it. Everything in it is text, never markup. ``home``: the address of the list of
    runs, if the page is served beside one."""
    return "\n".join(_page(data, home))


def _page(data: Mapping[str, Any], home: str) -> Iterator[str]:
    runs = data["runs"]
    names = {run["letter"]: model_of(run) for run in runs}
    title = "Comparison of " + ", ".join(dict.fromkeys(run["model"] for run in runs))
    brand = f'<a href="{escape(home)}">AgentGauge · all runs</a>' if home else "AgentGauge"
    yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
    yield f"<style>{_style()}</style></head><body>"
    yield f'<header><p class="brand">{brand}</p><h1>{escape(title)}</h1></header><main>'
    yield from _runs(runs)
    yield from _choices(data["choices"], names)
    for one in data["comparisons"]:
        yield from _differences(one, data, names)
    yield from _cases(data["cases"], names)
    yield f'</main><footer class="quiet"><p>{escape(data["note"])}</p></footer>'
    yield '<dialog id="both" aria-labelledby="both-title"><div><h2 id="both-title"></h2>'
    yield '<button type="button" id="close">Close</button></div><div id="sides"></div></dialog>'
    yield f"<script>{_script()}</script></body></html>\n"


def _runs(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield '<section><h2>Runs</h2><div class="wide" tabindex="0"><table id="runs"><tbody>'
    for run in runs:
        name = f'<a href="{escape(run["page"])}">{escape(model_of(run))}</a>'
        yield f"<tr><td><b>{run['letter']}</b></td><td>{name}</td><td><code>{escape(run['path'])}</code></td></tr>"
    yield "</tbody></table></div></section>"


# -- which one to take


def _choices(choices: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[str]:
    if not choices:
        return
    yield '<section id="choice"><h2>Which one to take</h2>'
    for choice in choices:
        yield f'<p class="conclusion">{escape(choice["sentence"])}</p>'
        if choice["fronts"]:
            yield f'<div class="plots">{"".join(scatters(choice, names))}</div>'
        yield from _choice_table(choice, names)
    yield (
        '<p class="quiet">A box is the 95 % interval of the figure and of the measure. The dashed line joins the runs'
        " that no other run is better than in both.</p>"
    )
    if drawn := picture(choices, names):
        yield '<p id="files" hidden><button type="button" id="svg">Save the plots as SVG</button>'
        yield '<button type="button" id="png">Save the plots as PNG</button></p>'
        yield f'<script type="image/svg+xml" id="picture">{drawn}</script>'
    yield "</section>"


def _choice_table(choice: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    passes = list(dict.fromkeys(name for row in choice["rows"] for name in row["pass"]))
    measures = [name for name in MEASURES if any(row[name] for row in choice["rows"])]
    heads = ["run", choice["figure"], *passes, *(_SHORT[name] for name in measures), "cases", "broken"]
    yield '<div class="wide" tabindex="0"><table class="numbers"><thead><tr>'
    yield "".join(f'<th scope="col">{escape(head)}</th>' for head in heads) + "</tr></thead><tbody>"
    for row in choice["rows"]:
        figures = [row, *(row["pass"].get(name) for name in passes)]
        found = [_figure(figure) for figure in figures]
        found += [_spread(name, row[name]) for name in measures]
        found += [f"{row['cases']:,}", f"{row['broken']:,}"]
        name = f"{row['run']}: {names[row['run']]}"
        yield f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{cell}</td>" for cell in found)}</tr>'
    yield "</tbody></table></div>"


_SHORT = {"usd": "$ a case", "tokens": "tokens a case", "p50": "p50", "p90": "p90"}


def _figure(figure: Mapping[str, Any] | None) -> str:
    if figure is None or figure.get("value") is None:
        return "–"
    low, high = figure.get("low"), figure.get("high")
    ends = "" if low is None or high is None else f" ({low:.1f} to {high:.1f})"
    return f"{figure['value']:.2f}{ends}"


def _spread(measure: str, spread: Mapping[str, float | None] | None) -> str:
    if spread is None or spread["value"] is None:
        return "–"
    low, high = spread["low"], spread["high"]
    text = written(measure, spread["value"]).removesuffix(" tokens")
    if low is None or high is None:
        return text
    ends = (written(measure, end).removesuffix(" tokens") for end in (low, high))
    return f"{text} ({' to '.join(ends)})" if low < high else text


# -- what differs significantly


def _differences(one: Mapping[str, Any], data: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    both = " and ".join(f"{letter} ({names[letter]})" for letter in (one["run"], one["against"]))
    yield f'<section><h2>{escape(both)}</h2><p class="conclusion">{escape(one["conclusion"])}</p>'
    for reason in one["warnings"]:
        yield f'<p class="warning">Warning: {escape(between(one, data) + reason)}</p>'
    plot = forest(one)
    if plot:
        yield f'<div class="wide" tabindex="0" role="region" aria-label="Forest plot">{plot}</div>'
    for task, part in one["tasks"].items():
        opened = "" if plot else " open"  # the plot has the differences
        counts = heading(task, part).partition(": ")[2]
        yield f"<details{opened}><summary><h3>{escape(task)}</h3> {escape(counts)}</summary>"
        told, few = by_reach(part["figures"])
        if told:
            yield from _figures(told, one["run"])
        if few:
            yield f"<details><summary>{few_samples(len(few))} difference</summary>"
            yield from _figures(few, one["run"])
            yield "</details>"
        yield "</details>"
    yield "</section>"


def _figures(figures: Mapping[str, Mapping[str, Any]], letter: str) -> Iterator[str]:
    yield '<div class="wide" tabindex="0"><table class="numbers"><thead><tr><th scope="col">figure</th>'
    yield "".join(f'<th scope="col">{name}</th>' for name in (*letters(letter), *COLUMNS)) + "</tr></thead><tbody>"
    for name, figure in figures.items():
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells(figure))
        yield f'<tr{" class=sure" if figure["significant"] else ""}><th scope="row">{escape(name)}</th>{row}</tr>'
    yield "</tbody></table></div>"


# -- every case


def _cases(cases: Mapping[str, Sequence[Mapping[str, Any]]], names: Mapping[str, str]) -> Iterator[str]:
    if sum(map(len, cases.values())) > LISTED:
        cases = {
            task: [case for case in found if len({*map(_letter, case["ends"])}) > 1] for task, found in cases.items()
        }
        left_out = '<p class="quiet">Cases with the same outcome in all runs are not listed.</p>'
    else:
        left_out = ""
    yield f'<section id="cases"><h2>Cases</h2>{left_out}<p id="filter" hidden><label>Show <select id="shown">'
    yield '<option value="d">cases on which the runs disagree</option><option value="a">all cases</option>'
    for place, letter in enumerate(names):
        yield f'<option value="p{place}">cases that only {letter} passed</option>'
        yield f'<option value="w{place}">cases that only {letter} did not pass</option>'
    yield '</select></label> <span id="count" class="quiet" role="status"></span></p>'
    for task, found in cases.items():
        if not found:
            continue
        heads = "".join(f'<th scope="col" title="{escape(name)}">{letter}</th>' for letter, name in names.items())
        yield f"<details open><summary><h3>{escape(task)}</h3></summary>"
        yield f'<div class="wide" tabindex="0"><table><thead><tr><th scope="col">case</th>{heads}</tr></thead><tbody>'
        yield from (_case(task, case, tuple(names)) for case in found)
        yield "</tbody></table></div></details>"
    yield "</section>"


def _case(task: str, case: Mapping[str, Any], runs: Sequence[str]) -> str:
    """A case's row, which a link to ``#TASK/SAMPLE`` finds. Its name opens all transcripts, its cells one of them."""
    name = f"{task}/{case['sample']}"
    sample = f'<a data-sides href="#{escape(quote(name, errors="replace"))}">{escape(case["sample"])}</a>'
    ends = "".join(map(_letter, case["ends"]))
    cells = "".join(
        f'<td data-run="{run}">{_end(end, link)}</td>'
        for run, end, link in zip(runs, case["ends"], case["links"], strict=True)
    )
    return f'<tr id="{escape(name)}" data-ends="{ends}"><th scope="row">{sample}</th>{cells}</tr>'


def _end(end: str, link: str) -> str:
    kind = end if end in ("passed", "wrong", "broken", "missing") else "partly" if end else "missing"
    if not link:
        return f'<span class="is-{kind}">{escape(end or "not in this run")}</span>'
    return f'<a class="is-{kind}" href="{escape(link)}">{escape(end)}</a>'


def _differs(case: Mapping[str, Any]) -> bool:
    return len({*map(_letter, case["ends"])}) > 1


def _letter(end: str) -> str:
    """``p``, ``w``, ``b``, ``m``, ``1`` (of several attempts some passed), or ``-`` (not in the run)."""
    return end[:1] or "-"


def _style() -> str:
    texts = (
        (folder / name).read_text(encoding="utf-8")
        for folder, name in ((_HERE.parent, "style.css"), (_HERE, "page.css"))
    )
    return "".join(texts) + STYLE


def _script() -> str:
    return (_HERE / "page.js").read_text(encoding="utf-8")
