"""A browser for the tests that look at pages."""

from __future__ import annotations

import pytest

from tests.reports.browsers import Watched, started_browser


@pytest.fixture(scope="module")
def browser():
    with started_browser() as started:
        yield started


@pytest.fixture
def watched(browser):
    """A page that asks no network and reports no error."""
    found = Watched(browser, viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield found
    found.page.close()
    assert found.said == []
    assert [url for url in found.asked if not url.startswith(("file:", "data:", "blob:"))] == []
