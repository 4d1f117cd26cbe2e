"""``make docs``: the site has every page, its links lead somewhere, and it loads nothing from the network."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow

LOADED = {"src", "srcset", "poster", "data", "background"}
"""Attributes whose address a browser loads by itself; ``href`` is one in ``link`` only."""

RELATIONS = {"canonical", "prev", "next", "alternate", "license"}
"""What a ``link`` may be without being loaded."""

DORMANT = {"https://unpkg.com/resize-observer-polyfill", "https://unpkg.com/mermaid@11/dist/mermaid.min.js"}
"""Scripts that the theme loads for browsers without ResizeObserver, and for elements of the class ``mermaid``."""


class Resources(HTMLParser):
    """Collects what a browser loads for a page, and the classes of the page's elements."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.classes |= set(found.get("class", "").split())
        self.loaded += [value for name, value in found.items() if name in LOADED]
        if tag == "link" and not set(found.get("rel", "").split()) & RELATIONS:
            self.loaded.append(found.get("href", ""))


def resources(page: str) -> Resources:
    parser = Resources()
    parser.feed(page)
    return parser


def elsewhere(addresses: list[str]) -> list[str]:
    return [address for address in addresses if re.match(r"\s*(?:https?:)?//", address)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]  # --quiet: links unchecked
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_it_has_every_page_and_loads_nothing_from_the_network(site: Path) -> None:
    pages = {str(page.relative_to(site)): resources(page.read_text(encoding="utf-8")) for page in site.rglob("*.html")}
    own = {page.with_suffix(".html").name for page in (ROOT / "docs").glob("*.md")}
    assert own | {"index.html", "contributing.html", "changelog.html", "examples/own_tests.html"} <= pages.keys()
    assert {name: elsewhere(page.loaded) for name, page in pages.items() if elsewhere(page.loaded)} == {}
    assert [name for name, page in pages.items() if "mermaid" in page.classes] == []
    styles = "\n".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert elsewhere(re.findall(r"(?:url\(|@import\s)\s*[\"']?([^\"')\s]+)", styles)) == []
    scripts = "\n".join(script.read_text(encoding="utf-8") for script in site.rglob("*.js"))
    assert set(re.findall(r"https?://(?:unpkg|cdn|cdnjs|fonts)[^\"'`\s]*", scripts)) <= DORMANT


def test_links_to_files_of_the_repository_become_links_to_pages(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert {'href="getting-started.html"', 'href="contributing.html"', 'src="pictures/page.png"'} <= set(
        re.findall(r"(?:href|src)=\"[^\"]*\"", index)
    )
    assert 'href="../fixtures.html"' in (site / "examples" / "own_tests.html").read_text(encoding="utf-8")
    reference = (site / "api.html").read_text(encoding="utf-8")
    assert 'id="agentgauge.Case.converse"' in reference
    assert "auto|mini|DIR" in (site / "options.html").read_text(encoding="utf-8")
