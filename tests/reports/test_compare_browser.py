"""A comparison in a browser."""

from __future__ import annotations

import pytest

from agentgauge.cli.main import main
from tests.reports.browsers import faults
from tests.reports.runs import PLANS, written


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_a_comparison_keeps_no_reader_out(axe, watched, tmp_path, scheme, width):
    for name, right, scoring in (("a", False, "parity"), ("b", True, "strict")):
        written(
            tmp_path / name,
            {PLANS: {f"s{number}": [right or number == 9] for number in range(10)}},
            ("run/scoring", scoring),
        )
    target = tmp_path / "comparison.html"
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--format", "html", "--output", str(target)]) == 0
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_viewport_size({"width": width, "height": 800})
    page = watched.open(target)
    assert page.locator(".warning").count() == 1 and page.locator("svg .sure").count() == 1
    assert page.locator("#cases tbody tr:visible").count() == 9  # on which the runs disagree
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page, axe) == []
