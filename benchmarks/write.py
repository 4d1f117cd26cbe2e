"""Put measured figures into the page on performance: ``python -m benchmarks.write figures.json``.

One of the pages has a place for the table of each module, between ``<!-- figures: test_throughput -->`` and ``<!-- end
-->``, and the first page one for the machine. Tables of modules that did not run stay as they are. The plots are
pictures beside the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pictures import draw

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "performance.md", ROOT / "docs" / "scaling.md")
END = "<!-- end -->"


def write(noted: Mapping[str, Any], pages: Sequence[Path]) -> None:
    """Raises SystemExit for figures that have no place on a page; nothing is written then."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    modules = dict.fromkeys(figure["module"] for figure in noted["figures"])
    homes = {
        module: page for page, text in texts.items() for module in modules if f"<!-- figures: {module} -->" in text
    }
    if lost := [module for module in modules if module not in homes]:
        raise SystemExit(
            f"{pages[0].name} has no place for the figures of {', '.join(lost)}; add '<!-- figures: {lost[0]} -->' and"
            f" '{END}'"
        )
    texts[pages[0]] = put(texts[pages[0]], "<!-- machine -->", machine(noted))
    for module, page in homes.items():
        own = [figure for figure in noted["figures"] if figure["module"] == module]
        texts[page] = put(texts[page], f"<!-- figures: {module} -->", table(own, noted["machine"], module))
    for page, text in texts.items():
        page.write_text(text, encoding="utf-8")
    draw(noted["curves"], pages[0].parent / "pictures")


def machine(noted: Mapping[str, Any]) -> str:
    about, versions = noted["machine"], noted["versions"]
    return (
        f"Last run on {about['date']}: {about['cores']} cores, {about['memory_gb']:.0f} GB, {about['system']}, "
        f"load {about['load']:.1f} at the start, {about['minutes']:.0f} minutes in all; "
        f"{', '.join(f'{name} {number}' for name, number in versions.items())}."
    )


def table(figures: Sequence[Mapping[str, Any]], about: Mapping[str, Any], module: str) -> str:
    best = min(min(paces) for paces in about["paces"].values())
    slow = max(about["paces"][module]) / best
    lines = [
        (
            f"Measured on {about['date']}, load {about['load']:.1f} at the start; the machine's lowest speed was"
            f" {100 / slow:.0f} % of its best."
        ),
        "",
        "| what | figure | target | |",
        "|---|---|---|---|",
    ]
    for figure in figures:
        unit = figure["unit"] or ("×" if " / " in figure["name"] else "")
        verdict = ("met" if figure["met"] else "**not met**") if figure["target"] else ""
        target = f"{figure['target']} {unit}" if figure["target"] else ""
        lines.append(
            f"| {figure['name'].replace('|', '/')} | {number(figure['value'])} {unit} | {target} | {verdict} |"
        )
    return "\n".join(lines)


def number(value: float) -> str:
    """Three digits, without an exponent: 1.53, 15.3, 2,465."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def put(text: str, mark: str, content: str) -> str:
    """The page with content between a mark and END. Raises SystemExit for a page without them."""
    before, found, rest = text.partition(mark)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"the page needs '{mark}' and, behind it, '{END}'")
    return f"{before}{mark}\n\n{content}\n\n{END}{after}"


if __name__ == "__main__":
    write(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), PAGES)
