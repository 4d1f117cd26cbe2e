"""Reading documents: texts, tables, office files and PDFs, as tools and judges do."""

from __future__ import annotations

import datetime
import io
import random
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.facts import facts
from bench_gta.workflow.inside.convert import content
from tool_impls.documents import ReadCSV, ReadDOCX, ReadPDF, ReadPPTX, ReadXLSX
from tool_impls.documents.plain_text import decode, gathered, read_csv
from tool_impls.perception import ocr
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")
pytest.importorskip("openpyxl")
pytest.importorskip("pypdf")
pytest.importorskip("cryptography")

DATA = Path(__file__).parent / "data"


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


TEXTS = {
    "cp1252": [
        "Name;Größe;Straße\nJörg;180;Höhe 3\n",
        "name,price\ncafé,3\n",
        "name,price\nnaïve,3\nplain,4\n",
        "Prénom,Âge,Ville\nHélène,34,Orléans\nZoé,29,Besançon\n",
        "producto;cantidad\nniño;3\naños;12\nEspaña;1\n",
        "Artikel;Preis\nKäse;1,99 €\nBrötchen;0,35 €\n",
        "item,price\n“Fancy” widget,£3.50\nTom’s – best,£4\n",
        "place,temperature\nroof,20 °C\ncellar,±0.5\n",
        "nome,cidade\nJoão,São Paulo\nConceição,Brasília\n",
    ],
    "mac_roman": ["Name;Größe;Straße\nJörg;180;Höhe 3\n", "prénom,âge\nÉloïse,31\nFrançois,40\n"],
    "cp850": ["Name;Größe;Straße\nJörg;180;Höhe 3\n", "prénom,ville\nHélène,Orléans\nZoé,Besançon\n"],
    "cp1250": ["imię;miasto\nŁukasz;Łódź\nŻaneta;Kraków\nMałgorzata;Gdańsk\n"],
    "cp1251": ["имя;город\nИван;Москва\nОльга;Санкт-Петербург\n", "товар,цена\nхлеб,35\nмолоко,80\n"],
    "cp1253": ["όνομα;πόλη\nΓιώργος;Αθήνα\nΜαρία;Θεσσαλονίκη\n"],
    "shift_jis": ["商品,価格\nりんご,120\nバナナ,80\n", "氏名,住所\n山田太郎,東京都千代田区丸の内\n"],
    "euc_kr": ["도시,인구\n서울,9700000\n부산,3400000\n"],
    "big5": ["城市,人口\n臺北,2600000\n高雄,2700000\n"],
    "gb18030": [
        "城市,人口\n北京,2154\n",
        "姓名,年龄\n张三,20\n李四,30\n王五,25\n",
        "单价,备注\n3,好\n",
        "id,name\n1,键盘\n2,鼠标\n",
        "价,量\n",
    ],
    "utf-8": ["名前,Größe,цена\n", "a\n", "only one � that was there before\n"],
    "utf-8-sig": ["a,中\n"],
    "utf-16": ["a,中\n"],
    "utf-32": ["a,中\n"],
    "utf-16-le": ["name,price\ncafé,3\ntea,4\n"],
    "utf-16-be": ["name,price\ncafé,3\ntea,4\n"],
}


@pytest.mark.parametrize(("encoding", "text"), [(encoding, text) for encoding in TEXTS for text in TEXTS[encoding]])
def test_the_encoding_is_found(encoding: str, text: str, tmp_path: Path) -> None:
    assert decode(text.encode(encoding)) == text
    assert decode((text * 20_000)[:400_000].encode(encoding)) == (text * 20_000)[:400_000]


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_tool_and_judge_read_a_file_alike(name: str, tmp_path: Path) -> None:
    for encoding in ("cp1252", "cp1251", "gb18030", "shift_jis", "utf-16"):
        (tmp_path / name).write_bytes(TEXTS.get(encoding, TEXTS["utf-8"])[0].encode(encoding))
        tool = ReadCSV(ToolSettings()).apply(Path(), csv_file=tmp_path / name)
        (judge,), (shown, _) = facts([tmp_path / name], folder=tmp_path), content(tmp_path / name)
        words = re.findall(r"[\w -]+", tool)
        assert re.findall(r"[\w -]+", judge.text.replace(" | ", ",")) == words == re.findall(r"[\w -]+", shown)


def test_files_that_are_no_text_are_refused() -> None:
    for data in (random.Random(1).randbytes(3000).replace(b"\0", b""), zlib.compress(b"text " * 10)):
        with pytest.raises(ToolError, match="is no text in UTF-8, UTF-16 or another common encoding; save it as UTF-8"):
            decode(data)


def test_an_encoding_can_be_named() -> None:
    assert decode("ÄÖÜ".encode("mac-roman"), "mac-roman") == "ÄÖÜ"
    with pytest.raises(ToolError, match="no text in UTF-8, UTF-16 or ascii; save it as UTF-8"):
        decode(b"\xff\xfa", "ascii")


@pytest.mark.parametrize(
    ("text", "delimiter", "rows"),
    [
        ("a,b\n1,2\n", ",", [["a", "b"], ["1", "2"]]),
        ("a;b\n1,5;2\n", ";", [["a", "b"], ["1,5", "2"]]),
        ("1,5;2,5\n3,5;4,5\n", ";", [["1,5", "2,5"], ["3,5", "4,5"]]),
        ("a\tb\n1,5\t2;3\n", "\t", [["a", "b"], ["1,5", "2;3"]]),
        ("a|b\n1|2\n", "|", [["a", "b"], ["1", "2"]]),
        ("Report, 2024\n\na;b\n1;2\n", ";", [["Report, 2024"], ["a", "b"], ["1", "2"]]),
        ('"a;b;c;d",e\n"f;g",h\n', ",", [["a;b;c;d", "e"], ["f;g", "h"]]),
        ('"a, b";c\n"d, e, f";g\n', ";", [["a, b", "c"], ["d, e, f", "g"]]),
        ("name,notes\nx,one; two\ny,three; four\n", ",", [["name", "notes"], ["x", "one; two"], ["y", "three; four"]]),
        ("a,b\nonly\n1,2,3\nx;y,z\n", ",", [["a", "b"], ["only"], ["1", "2", "3"], ["x;y", "z"]]),
        ("sep=;\na;b\n", ";", [["a", "b"]]),
        ("sep=^\r\na^b\r\n", "^", [["a", "b"]]),
        ("one\rtwo\r", ",", [["one"], ["two"]]),
        ("", ",", []),
    ],
)
def test_the_delimiter_is_what_divides_the_rows(text: str, delimiter: str, rows: list[list[str]]) -> None:
    found, read = read_csv(text)
    assert (found, list(read)) == (delimiter, rows)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'"a, b";"c"\n"d;e";f\n', 'a, b;c\n"d;e";f'),
        (b"a;b\n1,5;2", "a;b\n1,5;2"),
        (b"a\tb\n1\t2\n", "a\tb\n1\t2"),
    ],
)
def test_the_tool_keeps_the_delimiter(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    assert ReadCSV(ToolSettings()).apply(Path(), csv_file=tmp_path / "a.csv") == text


def pdf_text(path: Path, released: bool = False, **options: Any) -> str:
    shown = str(ReadPDF(ToolSettings(released=released, tables={"ReadPDF": options})).apply(Path(), file=path))
    return "\n".join(line for line in shown.split("\n") if line)


def drawn(draw: Callable[[Any], None], **options: Any) -> bytes:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    stream = io.BytesIO()
    page = canvas.Canvas(stream, **options)
    draw(page)
    page.save()
    return stream.getvalue()


def encrypted(algorithm: str, user: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(drawn(lambda page: page.drawString(72, 700, "secret text"))))
    writer.encrypt(user, "owner", algorithm=algorithm)
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


ALGORITHMS = ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_encryption_opens_with_an_empty_password(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(encrypted(algorithm, ""))
    assert pdf_text(tmp_path / "a.pdf").strip() == "secret text"
    (judge,) = facts([tmp_path / "a.pdf"], folder=tmp_path)
    assert (judge.broken, judge.text.strip(), judge.measures["pages"]) == ("", "secret text", 1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_password_is_named_as_the_reason(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(encrypted(algorithm, "user"))
    with pytest.raises(ToolError, match=r"^the PDF is protected by a password; save it without one$"):
        pdf_text(tmp_path / "a.pdf")
    (judge,) = facts([tmp_path / "a.pdf"], folder=tmp_path)
    assert judge.broken == "the PDF is protected by a password; save it without one"


@pytest.mark.parametrize("name", ["enc-aes128.pdf", "enc-aes256.pdf"])
def test_encrypted_files_of_other_programs(name: str) -> None:
    assert pdf_text(DATA / name) == "Plain text page one\nPage three"


def test_a_note_on_a_turned_page() -> None:
    assert pdf_text(DATA / "rotated-annot.pdf") == "Plain text page one\nNote: Approved by Kim\nPage three"


def test_notes_are_read_with_their_page(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.drawString(72, 700, "first")
        page.textAnnotation("look here\nand there", (10, 10, 50, 50))
        page.freeTextAnnotation("typed on the page", DA="(0 g)", Rect=(60, 10, 90, 50))
        page.highlightAnnotation("highlighted", Rect=(60, 60, 90, 90))
        page.textAnnotation("  ", (10, 10, 50, 50))
        page.linkURL("https://shop.example", (0, 0, 9, 9))
        page.showPage()
        page.drawString(72, 700, "second")
        page.showPage()
        page.drawString(72, 700, "third")
        page.textAnnotation("Größe 中", (10, 10, 50, 50))

    (tmp_path / "a.pdf").write_bytes(drawn(draw))
    notes = "first\nNote: look here\nand there\nNote: typed on the page\nNote: highlighted"
    assert pdf_text(tmp_path / "a.pdf") == f"{notes}\nsecond\nthird\nNote: Größe 中"
    assert (
        pdf_text(tmp_path / "a.pdf", released=True)
        == "first\nsecond\nthird"
        == pdf_text(tmp_path / "a.pdf", notes=False)
    )


def test_values_of_form_fields_are_read(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        form = page.acroForm
        page.drawString(72, 700, "Application")
        form.textfield(name="name", value="Jörg Groß", x=72, y=650)
        form.textfield(name="empty", value="", x=72, y=600)
        form.choice(name="city", value="Berlin", options=["Berlin", "Köln"], x=72, y=550)
        form.checkbox(name="agreed", checked=True, x=72, y=500)
        form.checkbox(name="spam", checked=False, x=72, y=450)
        form.radio(name="size", value="M", selected=True, x=72, y=400)
        form.radio(name="size", value="L", selected=False, x=92, y=400)

    (tmp_path / "a.pdf").write_bytes(drawn(draw))
    lines = pdf_text(tmp_path / "a.pdf").split("\n")
    values = ["name: Jörg Groß", "city: Berlin", "agreed: Yes", "spam: Off", "size: M"]
    assert lines == ["Application", *(f"Field {value}" for value in values)]
    (judge,) = facts([tmp_path / "a.pdf"], folder=tmp_path)
    assert judge.text.strip().split("\n") == lines


COUNTRIES = "[[(de)(Germany)][(no)(Norway)]]"
FIELDS = {
    "a choice by its label": (f"/FT/Ch/V(no)/Opt{COUNTRIES}", "Norway"),
    "several choices": (f"/FT/Ch/V[(no)(de)(x)]/Opt{COUNTRIES}", "Norway, Germany, x"),
    "a choice that is its own label": ("/FT/Ch/V(b)/Opt[(a)(b)]", "b"),
    "a number among choices": ("/FT/Ch/V(1)/Opt[(7)(8)]", "1"),
    "a button by its label": ("/FT/Btn/V/1/AS/1/Opt[(first)(second)]", "second"),
    "a box with its state alone": ("/FT/Btn/AS/Yes", "Yes"),
    "options of another kind": ("/FT/Ch/V(a)/Opt(a)", "a"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_show_what_a_viewer_shows(name: str, tmp_path: Path) -> None:
    entries, shown = FIELDS[name]
    import pypdf
    from pypdf.generic import ArrayObject, NameObject, read_object

    writer = pypdf.PdfWriter()
    widget = f"<</Type/Annot/Subtype/Widget/Rect[0 0 9 9]/T(field){entries}>>".encode()
    page = writer.add_blank_page(99, 99)
    page[NameObject("/Annots")] = ArrayObject([read_object(io.BytesIO(widget), writer)])
    writer.write(tmp_path / "a.pdf")
    assert pdf_text(tmp_path / "a.pdf") == f"Field field: {shown}"


@pytest.mark.parametrize("lost", [b"%%EOF", b"startxref", b"xref"])
def test_files_without_their_last_lines_are_read(lost: bytes, tmp_path: Path) -> None:
    whole = drawn(lambda page: page.drawString(72, 700, "hello"))
    (tmp_path / "a.pdf").write_bytes(whole[: whole.rindex(lost)])
    assert pdf_text(tmp_path / "a.pdf") == "hello"
    (tmp_path / "b.pdf").write_bytes(whole[: whole.rindex(b"trailer")])
    with pytest.raises(ToolError, match="is damaged or of another kind"):
        pdf_text(tmp_path / "b.pdf")


@pytest.mark.parametrize("page_turned", [0, 90, 180, 270])
@pytest.mark.parametrize("text_turned", [0, 90, 180, 270])
def test_turned_pages_are_read_in_order(page_turned: int, text_turned: int, tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.setPageRotation(page_turned)
        page.translate(300, 400)
        page.rotate(text_turned)
        for number, line in enumerate(["first line", "second line", "third line"]):
            page.drawString(-100, 100 - 20 * number, line)

    (tmp_path / "a.pdf").write_bytes(drawn(draw))
    assert pdf_text(tmp_path / "a.pdf") == "first line\nsecond line\nthird line"
