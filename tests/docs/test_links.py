"""Links lead somewhere, pictures are shown, and names are the right ones."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.docs.pages import PAGES, ROOT, anchors, without_code
from tests.every import every
from tests.without_plugin import GONE

pages = every("page", PAGES, ids=lambda page: page.name)


@pages
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    assert dead == []


def test_every_picture_is_small_and_shown_with_words_for_who_cannot_see_it() -> None:
    shown = set()
    for page in PAGES:
        shown |= set(
            re.findall(r"!\[[^\]]{20,}\]\((?:docs/)?pictures/([\w-]+\.png)\)", page.read_text(encoding="utf-8"))
        )
    pictures = list((ROOT / "docs" / "pictures").glob("*.png"))
    assert {picture.name for picture in pictures} == shown
    assert all(picture.stat().st_size < 150_000 for picture in pictures)


@pages
def test_apple_mmau_has_its_whole_name(page: Path) -> None:
    """There is an audio benchmark of the short name."""
    assert re.findall(r"(?<!Apple )\bMMAU\b", page.read_text(encoding="utf-8")) == []


@pages
def test_files_of_the_project_that_a_page_names_are_there(page: Path) -> None:
    folders = (
        "agentgauge|bench_gta|bench_wild|bench_mmau|tool_impls|reports|tests|docs|benchmarks|bundled_data|examples"
    )
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    gone = tuple(filter(None, os.environ.get(GONE, "").split(os.pathsep)))
    assert [name for name in named if not ((ROOT / name).exists() or name.startswith(gone))] == []
