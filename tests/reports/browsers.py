"""Pages of reports in a real browser, and what they say and ask for on the way."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def started_browser() -> Iterator:
    """The system's Chromium. Skips the test where it or playwright is not installed."""
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright to test pages in a browser")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("no system browser (chromium) to test pages in")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """A page of which everything that it says and asks for is kept."""

    def __init__(self, browser, **options):
        self.page = browser.new_page(**options)
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))

    def open(self, file: Path, link: str = ""):
        self.page.goto(file.as_uri() + link)
        return self.page


def faults(page, axe):
    """What axe-core finds on a page: rule and markup. ``axe``: the fixture."""
    page.evaluate(axe)
    found = "axe.run().then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.html)]))"
    return page.evaluate(found)
