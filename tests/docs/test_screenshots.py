"""The screenshots of the docs: each is there, small, and shown by a page. ``make screenshots`` takes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHOWN = {
    "page": "report-page.md",
    "page-cases": "report-page.md",
    "page-case": "report-page.md",
    "comparison": "comparing.md",
    "view": "view.md",
}


@pytest.mark.parametrize(("name", "page"), SHOWN.items())
def test_a_screenshot_is_small_and_shown_with_words_for_who_cannot_see_it(name, page):
    picture = DOCS / "pictures" / f"{name}.png"
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size < 150_000
    assert re.search(rf"!\[[^\]]{{20,}}\]\(pictures/{name}\.png\)", (DOCS / page).read_text(encoding="utf-8"))


def test_no_screenshot_is_left_over():
    assert {picture.stem for picture in (DOCS / "pictures").glob("*.png")} == SHOWN.keys()
