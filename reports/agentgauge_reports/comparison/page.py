"""A comparison as one small HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from agentgauge_reports.comparison.text import COLUMNS, between, cells, heading, letters, moves

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --sure: #1d4ed8; --soft: #8881 }
@media (prefers-color-scheme: dark) { :root { --sure: #93c5fd } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; margin-top: 2.5rem } h3 { font-size: 1rem; margin: 2rem 0 .3rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap }
th:first-child { text-align: left; padding-left: 0 } thead th { font-weight: 500; opacity: .75 }
tbody th { font-weight: 400 } tr.sure * { font-weight: 600; color: var(--sure) }
aside { border-left: 3px solid #d97706; padding: .3rem .8rem; background: var(--soft); margin: .5rem 0 }
ul.cases { columns: 16rem; padding-left: 1.2rem } details { margin: .4rem 0 } footer { margin: 3rem 0; opacity: .8; max-width: 45rem }
"""  # noqa: E501

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(data: Mapping[str, Any]) -> str:
    """``data``: as ``compare`` makes it. Everything in it is text, never markup."""
    title = "Comparison of " + ", ".join(run["model"] for run in data["runs"])
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy"'
        f' content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>",
        "<body><h1>Comparison</h1><ul>",
        *(
            f"<li>{run['letter']}: {escape(run['model'])} <code>{escape(run['path'])}</code></li>"
            for run in data["runs"]
        ),
        "</ul>",
    ]
    for one in data["comparisons"]:
        parts.append(f"<h2>{one['run']} and {one['against']}</h2>")
        parts += [f"<aside>Warning: {escape(between(one, data) + reason)}</aside>" for reason in one["warnings"]]
        for task, part in one["tasks"].items():
            parts += _task(task, part, one["run"])
    return "\n".join([*parts, f"<footer>{escape(data['note'])}</footer></body></html>", ""])


def _task(task: str, part: Mapping[str, Any], letter: str) -> Iterator[str]:
    yield f"<h3>{escape(task)}</h3><div>{escape(heading(task, part).partition(': ')[2])}</div>"
    yield '<div class="wide"><table><thead><tr><th scope="col">figure</th>'
    yield "".join(f'<th scope="col">{name}</th>' for name in (*letters(letter), *COLUMNS)) + "</tr></thead><tbody>"
    for name, figure in part["figures"].items():
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells(figure))
        yield f'<tr{" class=sure" if figure["significant"] else ""}><th scope="row">{escape(name)}</th>{row}</tr>'
    yield "</tbody></table></div>"
    for words, samples in moves(part, letter):
        yield f'<details><summary>{words}</summary><ul class="cases">'
        for each in samples:
            links = " ".join(f'<a href="{escape(each[key])}">{name}</a>' for key, name in (("a", "A"), ("b", letter)))
            yield f"<li>{escape(each['sample'])} {links}</li>"
        yield "</ul></details>"
