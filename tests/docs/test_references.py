"""What the code, its tests and the pages refer to is in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT, anchors

THIS = Path(__file__)
KINDS = {".py", ".md", ".toml"}

CITED = re.compile(r"(docs/(?<![\w/.]docs/)[\w/-]+\.md)(?:#([\w-]+))?")
"""The one form of a reference: a page, and the anchor of its section."""

ELSEWHERE = re.compile(
    r"\b[Ss]pecs?,?\s+\d|\bspecs?/|\bto the specs\b|\b(?:GTA|[Ww]ild|MMAU|[Tt]ools|Workflow)\s+specs?\b"
    r"|\bARCHITECTURE(?:,|\.md)"
)
"""Pages that no reader has."""


def files() -> Iterator[Path]:
    for top in sorted(ROOT.iterdir()):
        if not top.name.startswith(".") and top.name not in ("build", "dist", "runs"):
            yield from (path for path in ([top] if top.is_file() else top.rglob("*")) if path.suffix in KINDS)


TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files() if path != THIS}


def test_every_section_that_is_cited_is_there() -> None:
    sections = {page: anchors(text) for page, text in TEXTS.items() if page.startswith("docs/")}
    dead = [
        f"{name}: {cited[0]}"
        for name, text in TEXTS.items()
        if "docs/" in text
        for cited in CITED.finditer(text)
        if cited[1] not in sections or (cited[2] and cited[2] not in sections[cited[1]])
    ]
    assert dead == []


def test_nothing_is_cited_that_is_not_in_the_repository() -> None:
    suspect = {name: text for name, text in TEXTS.items() if "spec" in text.lower() or "ARCHITECTURE" in text}
    found = [f"{name}: {cited[0]!r}" for name, text in suspect.items() for cited in ELSEWHERE.finditer(text)]
    assert found == []
