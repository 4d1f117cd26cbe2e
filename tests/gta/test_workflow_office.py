"""Office files, pages and drawings shown by LibreOffice."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge import sandbox
from bench_gta.workflow import confined
from tests.gta.deliverables import book, pictures, png, said, show, word

for package in ("PIL", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab"):
    pytest.importorskip(package)
pytestmark = pytest.mark.skipif(
    confined.office() is None or not sandbox.layers(), reason="no LibreOffice, or no sandbox"
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of what was delivered."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_word_document_becomes_a_pdf_by_libreoffice(out: Path) -> None:
    shown = show(out, "plan.docx", word)
    assert (
        shown.why == ""
        and "DOCX file, shown as a PDF made by LibreOffice" in shown.note
        and shown.note.endswith("1 page")
    )
    assert "Thursday is the busiest day, 12 € für alle." in said(shown) and "Thursday" in shown.instead
    assert Path(shown.files[0]).name == "plan.pdf"


def test_a_workbook_is_shown_as_pages_and_as_values(out: Path) -> None:
    shown = show(out, "book.xlsx", book)
    assert "41.5" in said(shown) and "Thursday,41.5" in shown.text


def test_an_html_page_is_shown_with_what_lies_beside_it(out: Path) -> None:
    (out / "chart.png").write_bytes(png())
    page = '<h1>Hall</h1><img src="chart.png"><script>document.write("x")</script><p>ende</p>'
    shown = show(out, "page.html", page)
    assert "LibreOffice" in shown.note and "its source follows" in shown.note
    assert "ende" in said(shown) and pictures(shown) == 1 and shown.text == page


def test_a_drawing_becomes_a_picture(out: Path) -> None:
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><rect width="80" height="40" fill="red"/></svg>'
    )
    shown = show(out, "a.svg", drawing)
    from PIL import Image

    with Image.open(shown.files[0]) as image:
        assert image.convert("RGB").getpixel((image.width // 2, image.height // 2)) == (255, 0, 0)


def test_a_page_reads_no_file_of_this_machine(out: Path) -> None:
    (out.parent / "secret.txt").write_text("secret")
    secret = (out.parent / "secret.txt").as_uri()
    page = (
        f'<p>ok</p><iframe src="{secret}"></iframe><object data="{secret}"></object><img'
        ' src="http://127.0.0.1:9/a"><iframe src="file:///etc/passwd">'
    )
    shown = show(out, "a.html", page)
    assert "ok" in said(shown) and "secret" not in said(shown) and "root:" not in said(shown)


def test_where_libreoffice_does_not_end_the_text_is_shown(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "OFFICE_SECONDS", 0.3)
    shown = show(out, "plan.docx", word)
    assert "by its text only" in shown.note and "Thursday" in said(shown)
