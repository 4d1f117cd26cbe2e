"""The bundled workflow data set can be made again: same bytes for texts and documents, same measures for media."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_gta.workflow.facts import facts
from bundled_data.gta_workflow.build import makers
from tests.every import every
from tests.gta_mini.conftest import Rebuilt

pytestmark = pytest.mark.slow

for needed in ("PIL", "matplotlib", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab", "rapidocr", "sympy"):
    pytest.importorskip(needed, reason="the build needs agentgauge[tools]")

MINI = Path(__file__).parents[2] / "bench_gta" / "workflow" / "mini"
EXACT = (".csv", ".xlsx", ".pdf", ".json")
MEDIA = tuple(name for name in makers() if not name.endswith(EXACT))


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_same_files_are_made(rebuilt: Rebuilt) -> None:
    assert names(rebuilt.data) == names(MINI)


@every("name", [name for name in names(MINI) if name.endswith(EXACT)])
def test_a_text_or_a_document_has_the_same_bytes(name: str, rebuilt: Rebuilt) -> None:
    assert (rebuilt.data / name).read_bytes() == (MINI / name).read_bytes()


def test_making_a_file_twice_gives_the_same_bytes(rebuilt: Rebuilt, tmp_path: Path) -> None:
    for name, make in makers().items():
        make(tmp_path / name)
        assert (tmp_path / name).read_bytes() == (rebuilt.data / "files" / name).read_bytes(), name


def test_pictures_sounds_and_films_have_the_same_measures(rebuilt: Rebuilt, tmp_path: Path) -> None:
    """Other versions of the libraries may round and pack differently, so their bytes and numbers of colours are left
    out."""
    paths = [folder / "files" / name for name in MEDIA for folder in (rebuilt.data, MINI)]
    measured = [
        {word: value for word, value in found.measures.items() if word not in ("bytes", "colours")}
        for found in facts(paths, folder=tmp_path)
    ]
    assert len(measured) == 2 * len(MEDIA) and all(measured)
    for made, stored in zip(measured[::2], measured[1::2], strict=True):
        assert made == pytest.approx(stored, rel=0.01)
