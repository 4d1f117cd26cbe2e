"""Tasks as if they were installed, and a browser for the tests that look at pages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentgauge.core.registry import Registry
from tests.reports.browsers import Watched, started_browser
from tests.reports.runs import known

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def installed(monkeypatch):
    """A function that installs tasks, besides those that are."""
    return lambda *tasks: monkeypatch.setattr(Registry, "installed", lambda: known(*tasks))


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


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core. Skips the test where npm did not install it."""
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed; install it with: npm install --prefix {sys.prefix} axe-core@4")
    return AXE.read_text(encoding="utf-8")
