"""Hook of mkdocs (``mkdocs.yml``): pages outside of ``docs/`` join the site, and links fit the site and the repository.

In the repository a page links to files by their paths. On the site ``README.md`` is the first page, and the other pages
of ``OUTSIDE`` lie beside those of ``docs/``.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
OUTSIDE = {
    "README.md": "index.md",
    "README.zh.md": "index.zh.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{f"examples/{page.parent.name}/README.md": f"examples/{page.parent.name}.md" for page in EXAMPLES},
}
"""Path in the repository → path on the site."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of ``docs/``."""
    for source, target in OUTSIDE.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    place = page.file.src_uri
    source = next((path for path, target in OUTSIDE.items() if target == place), f"docs/{place}")

    def on_site(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"]))
        target = OUTSIDE.get(path, path.removeprefix("docs/"))
        return f"]({posixpath.relpath(target, posixpath.dirname(place) or '.')}{link['anchor'] or ''})"

    if place == "api.md":
        markdown = _with_docstrings(markdown)
    markdown = re.sub(
        r"`[^`\n]*`", lambda code: code[0].replace("\\|", "|"), markdown
    )  # GitHub wants them escaped in tables
    return re.sub(r"\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)", on_site, markdown)


def _with_docstrings(markdown: str) -> str:
    """The reference with each table's names in full below the table, by mkdocstrings."""

    def below(table: re.Match[str]) -> str:
        names = re.findall(r"^\| `(\w+)` \| `([\w.]+)`", table[0], flags=re.MULTILINE)
        return "\n\n".join(
            [table[0], *(f"::: {module}.{name}\n    options: {{heading_level: 4}}" for name, module in names)]
        )

    return re.sub(r"^\| name \| from \|.*\n(?:\|.*\n)+", below, markdown, flags=re.MULTILINE)
