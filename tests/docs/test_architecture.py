"""The page on the architecture says what the code does."""

from __future__ import annotations

import runpy

from tests.docs.pages import ROOT


def test_the_picture_is_the_one_that_the_code_draws() -> None:
    """Else ``make docs`` draws it anew."""
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
    assert drawing["PICTURE"].read_text(encoding="utf-8") == drawing["draw"]()
