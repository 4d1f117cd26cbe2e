"""Reading documents, made here by other hands than the tools that write them."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from tool_impls.documents import ReadCSV, ReadDOCX, ReadPDF, ReadPPTX, ReadXLSX
from tool_impls.documents.plain_text import gathered
from tool_impls.perception import ocr
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")
pytest.importorskip("openpyxl")
pytest.importorskip("pypdf")


def read(kind: type[Any], path: Path, released: bool = False, **options: Any) -> str:
    settings = ToolSettings(released=released, tables={kind.meta.name: options})
    return str(kind(settings).apply(Path(), **{kind.meta.inputs[0].name: path}))


# --- lengths
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "limit", "text"),
    [
        (["ab", "cd"], 5, "ab\ncd"),
        (["ab", "cd"], 4, "ab\nc\n[cut here: only the first 4 characters are shown]"),
        ([], 1, ""),
        (["", ""], 1, "\n"),
    ],
)
def test_what_is_too_long_is_cut_and_says_so(lines: list[str], limit: int, text: str) -> None:
    assert gathered(lines, limit) == text


# --- CSV
# -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a,b\r\n1,\r\n01,1.50\r\n", "a,b\n1,\n01,1.50"),
        (b'"a","b c","d,e","f""g","h\ni"\n', 'a,b c,"d,e","f""g","h\ni"'),
        (b"a\n\n\nb\n", "a\nb"),
        (b"a;b\n1;2", "a;b\n1;2"),
        (b"\xef\xbb\xbfa,\xe4\xb8\xad", "a,中"),
        ("a,中".encode("utf-16"), "a,中"),
        ("城市,人口\n北京,2154".encode("gb18030"), "城市,人口\n北京,2154"),
        (b"a,b\nonly\n1,2,3", "a,b\nonly\n1,2,3"),
    ],
)
def test_csv_values_stay_as_written(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    assert read(ReadCSV, tmp_path / "a") == text


def test_another_encoding_can_be_set(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("naïf,café".encode("latin-1"))
    assert read(ReadCSV, tmp_path / "a", encoding="latin-1") == "naïf,café"
    assert "names none that Python knows" in ReadCSV.state(ToolSettings(tables={"ReadCSV": {"encoding": "klingon"}}))


# --- XLSX
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    first = book.active
    first.title = "Sums"
    first.append(["item", "price", "day", None])
    first.append(["a, b", 1.5, datetime.datetime(2024, 1, 5)])
    first.append([])
    first.append(["总计", "=SUM(B2:B3)", datetime.datetime(2024, 1, 5, 13, 30), True])
    second = book.create_sheet("第二")
    second["B2"] = 7
    book.create_chartsheet("Chart")
    book.save(tmp_path / "a.xlsx")
    return tmp_path / "a.xlsx"


FIRST = 'item,price,day\n"a, b",1.5,2024-01-05\n\n总计,=SUM(B2:B3),2024-01-05 13:30:00,True'


def test_sheets_are_shown_under_their_names(workbook: Path) -> None:
    assert read(ReadXLSX, workbook) == f"Sheet Sums:\n{FIRST}\n\nSheet 第二:\n\n,7"


TWO_THREADS = """
import pathlib, sys, threading, time
from tool_impls.documents import read_tables
from tool_impls.documents import package

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "openpyxl.compat.numbers":  # the package is being imported, its parts are not there yet
            importing.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
importing = threading.Event()
writing = threading.Thread(target=lambda: __import__("openpyxl"))
writing.start()
importing.wait()
with package.Package(pathlib.Path(sys.argv[1])) as file:
    print([sheet.title for sheet in read_tables.sheets(file)])
writing.join()
"""


def test_two_tools_may_load_their_package_at_once(workbook: Path) -> None:
    """As a tool that writes tables beside one that reads them, in two threads of one process."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_THREADS, str(workbook)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.startswith("['"), done.stderr) == (True, "")


def test_the_released_tool_shows_the_first_sheet(workbook: Path) -> None:
    assert read(ReadXLSX, workbook, released=True) == FIRST == read(ReadXLSX, workbook, all_sheets=False)


def test_a_computed_value_comes_before_its_formula(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["rich", 3, "=not a formula"], book.add_format({"bold": True}))
        sheet.write_formula(1, 0, "=1+1", value=2)
        sheet.write_formula(1, 1, '=A1&"x"', value="richx")
        sheet.write_rich_string(2, 0, "two ", book.add_format({"bold": True}), "parts")
    assert read(ReadXLSX, tmp_path / "a.xlsx") == "rich,3,0\n2,richx\ntwo parts"


# --- DOCX
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def document(tmp_path: Path) -> Path:
    import docx

    made = docx.Document()
    made.add_heading("Title 标题")
    made.add_paragraph("before")
    table = made.add_table(2, 3)
    for place, cell in enumerate(table._cells):
        cell.text = f"c{place}"
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(1, 0).add_table(1, 1).cell(0, 0).text = "inner"
    table.cell(1, 2).add_paragraph("second")
    made.add_paragraph("after\tthe table\nnew line")
    made.save(str(tmp_path / "a.docx"))
    return tmp_path / "a.docx"


def test_tables_stand_where_they_stand_in_the_document(document: Path) -> None:
    assert read(ReadDOCX, document).split("\n") == [
        "Title 标题",
        "before",
        "c0 c1 | c2",
        "c3 inner | c4 | c5 second",
        "after\tthe table",
        "new line",
    ]


def test_the_released_tool_leaves_tables_out(document: Path) -> None:
    assert (
        read(ReadDOCX, document, released=True)
        == "Title 标题\nbefore\nafter\tthe table\nnew line"
        == read(ReadDOCX, document, tables=False)
    )


def test_content_controls_are_read(document: Path, tmp_path: Path) -> None:
    import docx
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    made = docx.Document(str(document))
    control = f"<w:sdt {nsdecls('w')}><w:sdtContent><w:p><w:r><w:t>filled in</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    made.element.body.insert(1, parse_xml(control))
    made.save(str(tmp_path / "b.docx"))
    assert read(ReadDOCX, tmp_path / "b.docx").split("\n")[1] == "filled in"


# --- PPTX
# ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def slides(tmp_path: Path) -> Path:
    import pptx
    from pptx.util import Inches

    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Title\v标题"
    slide.placeholders[1].text = "one\ntwo"
    box = (Inches(1), Inches(1), Inches(3), Inches(1))
    table = slide.shapes.add_table(2, 2, *box).table
    for place, cell in enumerate(table.iter_cells()):
        cell.text = f"c{place}"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*box).text_frame.text = "grouped"
    group.shapes.add_group_shape().shapes.add_textbox(*box).text_frame.text = "deeper"
    slide.notes_slide.notes_text_frame.text = "say hello"
    made.slides.add_slide(made.slide_layouts[6]).shapes.add_textbox(*box).text_frame.text = "second slide"
    made.save(str(tmp_path / "a.pptx"))
    return tmp_path / "a.pptx"


def test_everything_on_the_slides_is_shown(slides: Path) -> None:
    shown = [
        "Title",
        "标题",
        "one",
        "two",
        "c0 | c1",
        "c2 | c3",
        "grouped",
        "deeper",
        "Notes: say hello",
        "second slide",
    ]
    assert read(ReadPPTX, slides).split("\n") == shown


def test_the_released_tool_shows_only_texts_of_shapes(slides: Path) -> None:
    assert read(ReadPPTX, slides, released=True).split("\n") == ["Title", "标题", "one", "two", "second slide"]


# --- PDF
# -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """A page of text, a page that is a picture of text, and an empty one."""
    pytest.importorskip("reportlab")
    from PIL import Image, ImageDraw, ImageFont
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    scan = Image.new("RGB", (800, 300), "white")
    ImageDraw.Draw(scan).text((60, 100), "SCANNED 4711", fill="black", font=ImageFont.load_default(64))
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(72, 700, "first page")
    canvas.drawString(72, 680, "second line")
    canvas.showPage()
    canvas.drawImage(ImageReader(scan), 72, 400, 400, 150)
    canvas.showPage()
    canvas.showPage()
    canvas.save()
    return tmp_path / "a.pdf"


def test_pages_are_joined_by_line_ends(pdf: Path) -> None:
    assert read(ReadPDF, pdf) == "first page\nsecond line\n\n\n" == read(ReadPDF, pdf, released=True)


def test_pages_without_text_are_read_as_pictures(pdf: Path) -> None:
    for package in (*ocr.PACKAGES, "pypdfium2"):
        pytest.importorskip(package)
    lines = read(ReadPDF, pdf, ocr=True).split("\n")
    assert lines[:2] == ["first page", "second line"]
    assert "".join(lines[2:]).replace(" ", "") == "SCANNED4711"


# --- other programs
# --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [("a.csv", "xlsx", ReadXLSX), ("a.html", "docx", ReadDOCX), ("a.txt", "pdf", ReadPDF)],
)
def test_what_libreoffice_wrote_is_read(source: str, target: str, kind: type[Any], tmp_path: Path) -> None:
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    content = {
        "a.csv": "city,people\nParis,2100000\n",
        "a.html": "<html><body><p>city Paris</p><table><tr><td>2100000</td></tr></table></body></html>",
        "a.txt": "city Paris\n2100000\n",
    }
    (tmp_path / source).write_text(content[source])
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    filters = {"docx": "docx:MS Word 2007 XML", "pdf": "pdf", "xlsx": "xlsx"}
    command = [
        office,
        profile,
        "--headless",
        "--convert-to",
        filters[target],
        "--outdir",
        str(tmp_path),
        str(tmp_path / source),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    shown = read(kind, tmp_path / f"a.{target}")
    assert "city" in shown and "Paris" in shown and "2100000" in shown


@pytest.mark.parametrize("kind", [ReadXLSX, ReadDOCX, ReadPPTX, ReadPDF])
def test_a_file_of_another_kind_is_refused(kind: type[Any], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("just a text")
    with pytest.raises(ToolError, match="the file is not a"):
        read(kind, tmp_path / "a")
