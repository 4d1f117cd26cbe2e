"""Hostile and damaged documents are refused in one sentence."""

from __future__ import annotations

import copy
import io
import random
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.inside import facts as child
from tests.tools import office_files
from tests.tools.office_files import xml
from tool_impls.documents import ReadCSV, ReadDOCX, ReadPDF, ReadPPTX, ReadXLSX, package, read_office
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")
pytest.importorskip("openpyxl")
pytest.importorskip("pypdf")


OFFICE = {"docx": ReadDOCX, "pptx": ReadPPTX, "xlsx": ReadXLSX}
MEMORY = 24 * 2**20  # bytes
SECONDS = 10.0  # of processor time, far above what is measured, far below minutes


def read(kind: type[Any], path: Path, **options: Any) -> str:
    name = kind.meta.name
    settings = ToolSettings(released=False, tables={name: options})
    return str(kind(settings).apply(Path(), **{kind.meta.inputs[0].name: path}))


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


@pytest.fixture(scope="module")
def sound() -> dict[str, bytes]:
    """A small sound file of each kind."""
    import docx
    import openpyxl
    import pptx

    document, book, slides = docx.Document(), openpyxl.Workbook(), pptx.Presentation()
    document.add_paragraph("hello")
    document.add_table(1, 2).cell(0, 0).text = "cell"
    book.active.append(["hello", 1])
    slides.slides.add_slide(slides.slide_layouts[1]).shapes.title.text = "hello"
    made = {}
    for suffix, one in (("docx", document), ("xlsx", book), ("pptx", slides)):
        buffer = io.BytesIO()
        one.save(buffer)
        made[suffix] = buffer.getvalue()
    return made


def changed(data: bytes, parts: dict[str, bytes | Callable[[bytes], bytes]]) -> bytes:
    """The archive with parts replaced, changed or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    for name, part in parts.items():
        held[name] = part(held[name]) if callable(part) else part
    return zipped(held)


def zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def patched(
    data: bytes, name: str, size: int | None = None, flags: int | None = None, method: int | None = None
) -> bytes:
    """The archive with other claims about one part, in its directory and before the part."""
    made = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = -1
        while (at := made.find(signature, at + 1)) >= 0:
            start = at + (30 if offset == 0 else 46)
            if made[start : start + len(name)] != name.encode():
                continue
            if flags is not None:
                struct.pack_into("<H", made, at + 6 + offset, flags)
            if method is not None:
                struct.pack_into("<H", made, at + 8 + offset, method)
            if size is not None:
                struct.pack_into("<L", made, at + 22 + offset, size)
    return bytes(made)


def refusal(kind: type[Any], data: bytes, folder: Path) -> str:
    """The message for a file that must be refused in little memory."""
    path = folder / "file"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ToolError) as caught:
            read(kind, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY + len(data)
    message = str(caught.value)
    assert str(folder) not in message and "\n" not in message
    return message


each_office = pytest.mark.parametrize("suffix", OFFICE)
MAIN = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}


@each_office
def test_sound_files_are_read(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(sound[suffix])
    assert "hello" in read(OFFICE[suffix], tmp_path / "a")


# --- archives ------------------------------------------------------------------------------------------------------


@each_office
def test_what_is_no_archive_is_refused(suffix: str, tmp_path: Path) -> None:
    kind = OFFICE[suffix]
    assert "no zip archive" in refusal(kind, b"%PDF-1.7\n" + b"x" * 999, tmp_path)
    assert "is empty" in refusal(kind, b"", tmp_path)
    assert "before 2007" in refusal(kind, package.OLE + bytes(999), tmp_path)
    assert "password" in refusal(kind, package.OLE + bytes(999) + package.ENCRYPTED, tmp_path)
    assert "its end is missing" in refusal(kind, b"PK\x03\x04" + bytes(999), tmp_path)


@each_office
def test_an_archive_of_something_else_is_refused(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    assert "can be read" in refusal(OFFICE[suffix], zipped({"hello.txt": b"hello"}), tmp_path)
    other = {"docx": "xlsx", "xlsx": "pptx", "pptx": "docx"}[suffix]
    assert "can be read" in refusal(OFFICE[suffix], sound[other], tmp_path)


@each_office
def test_a_bomb_is_refused_by_its_ratio(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = changed(sound[suffix], {"extra.bin": bytes(40 * 2**20)})
    assert "times its size" in refusal(OFFICE[suffix], data, tmp_path)


@each_office
def test_a_part_that_is_larger_than_it_claims_is_refused(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = patched(changed(sound[suffix], {"extra.bin": bytes(64 * 2**20)}), "extra.bin", size=100)
    assert "more than the 100 bytes" in refusal(OFFICE[suffix], data, tmp_path)


def test_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch, sound: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(sound["docx"])) as archive:
        count = len(archive.namelist())
    (tmp_path / "a").write_bytes(sound["docx"])
    monkeypatch.setattr(package, "MAX_PARTS", count)
    assert "hello" in read(ReadDOCX, tmp_path / "a")
    more = changed(sound["docx"], {"extra.bin": b"x"})
    assert f"claims {count + 1} parts" in refusal(ReadDOCX, more, tmp_path)
    understated = bytearray(more)
    struct.pack_into("<H", understated, more.rindex(b"PK\x05\x06") + 10, 1)
    assert f"holds {count + 1} parts; at most {count} are read" in refusal(ReadDOCX, bytes(understated), tmp_path)


def test_a_password_and_foreign_packing_are_named(sound: dict[str, bytes], tmp_path: Path) -> None:
    assert "password" in refusal(ReadDOCX, patched(sound["docx"], MAIN["docx"], flags=1), tmp_path)
    assert "method 14" in refusal(ReadDOCX, patched(sound["docx"], MAIN["docx"], method=14), tmp_path)


def test_a_damaged_part_is_named(sound: dict[str, bytes], tmp_path: Path) -> None:
    data = bytearray(sound["docx"])
    at = data.find(b"word/document.xml") + 200
    data[at] ^= 0xFF
    assert "'word/document.xml'" in refusal(ReadDOCX, bytes(data), tmp_path)


# --- XML -----------------------------------------------------------------------------------------------------------

LAUGHS = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
EVIL = {
    "laughs": LAUGHS + "]><a>&i;</a>",
    "file": '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
    "web": '<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>',
    "plain": "<!DOCTYPE a><a/>",
}


@each_office
@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_and_entities_are_refused(
    suffix: str, evil: str, encoding: str, sound: dict[str, bytes], tmp_path: Path
) -> None:
    data = changed(sound[suffix], {MAIN[suffix]: EVIL[evil].encode(encoding)})
    assert "declares a document type" in refusal(OFFICE[suffix], data, tmp_path)


def test_the_number_of_tags_is_bounded(
    monkeypatch: pytest.MonkeyPatch, sound: dict[str, bytes], tmp_path: Path
) -> None:
    monkeypatch.setattr(package, "MAX_TAGS", 50_000)
    (tmp_path / "a").write_bytes(sound["docx"])
    assert "hello" in read(ReadDOCX, tmp_path / "a")
    more = changed(sound["docx"], {"word/more.xml": b"<a>" + b"<b/>" * 50_000 + b"</a>"})
    assert "more than 50,000 XML tags" in refusal(ReadDOCX, more, tmp_path)


SHEET = "xl/worksheets/sheet1.xml"


def sheet(data: bytes, rows: str, dimension: str = "A1") -> bytes:
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return changed(
        data,
        {
            SHEET: (
                f'<worksheet xmlns="{namespace}"><dimension'
                f' ref="{dimension}"/><sheetData>{rows}</sheetData></worksheet>'.encode()
            )
        },
    )


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="ZZZZZZZZ1"><v>7</v></c></row>',
        '<row r="x"><c r="A1"><v>7</v></c></row>',
    ],
)
def test_cells_in_wrong_places_are_refused(rows: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    assert "can be read" in refusal(ReadXLSX, sheet(sound["xlsx"], rows), tmp_path)


# --- PDF -----------------------------------------------------------------------------------------------------------


def pdf(objects: dict[int, bytes], trailer: bytes = b"") -> bytes:
    """A PDF of numbered objects, the first being the catalogue."""
    made = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(made)
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (max(objects) + 1)
    for number in range(1, max(objects) + 1):
        made += b"%010d 00000 n \n" % places.get(number, 0)
    return bytes(
        made + b"trailer <</Root 1 0 R /Size %d %s>>\nstartxref\n%d\n%%%%EOF" % (max(objects) + 1, trailer, start)
    )


CATALOGUE = b"<</Type/Catalog/Pages 2 0 R>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def page(content: bytes = b"BT /F 12 Tf 72 700 Td (hello) Tj ET", filter_: bytes = b"") -> dict[int, bytes]:
    return {
        1: CATALOGUE,
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6"
            b" 0 R>>>>>>"
        ),
        4: b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), filter_, content),
        5: FONT,
        6: (
            b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 4>>stream\n/X"
            b" Do\nendstream"
        ),
    }


def test_a_sound_pdf_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pdf(page()))
    assert read(ReadPDF, tmp_path / "a").strip() == "hello"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04" + bytes(2000), "not a PDF"),
        (b"%PDF-1.7\n" + b"rubbish " * 1000, "not a PDF that can be read"),
        (b"%PDF-1.7", "not a PDF that can be read"),
    ],
)
def test_what_is_no_pdf_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    assert message in refusal(ReadPDF, data, tmp_path)


def test_ten_thousand_pages_are_refused(tmp_path: Path) -> None:
    kids = b" ".join(b"%d 0 R" % number for number in range(3, 10_003))
    objects = {1: CATALOGUE, 2: b"<</Type/Pages/Count 10000/Kids[%s]>>" % kids}
    objects |= dict.fromkeys(range(3, 10_003), b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>")
    assert "more than 1,000 pages" in refusal(ReadPDF, pdf(objects), tmp_path)


def test_a_form_that_draws_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pdf(page(b"BT /F 12 Tf 72 700 Td (hello) Tj ET /X Do")))
    assert "hello" in read(ReadPDF, tmp_path / "a")


def test_a_page_that_unpacks_to_far_too_much_is_left_out(tmp_path: Path) -> None:
    for size in (30, 120):
        packed = zlib.compress(b"0 " * (size * 2**19))
        (tmp_path / "a").write_bytes(pdf(page(packed, b"/Filter/FlateDecode")))
        tracemalloc.start()
        try:
            shown = read(ReadPDF, tmp_path / "a")
        except ToolError as error:
            shown = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert "page 1 is left out" in shown
        assert peak < 400 * 2**20


def encrypted(password: str, owner: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(page())))
    writer.encrypt(password, owner, algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def test_an_encrypted_pdf_needs_an_empty_password(tmp_path: Path) -> None:
    assert "protected by a password" in refusal(ReadPDF, encrypted("secret", "owner"), tmp_path)
    (tmp_path / "a").write_bytes(encrypted("", "owner"))
    assert read(ReadPDF, tmp_path / "a").strip() == "hello"


# --- CSV, and any bytes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff", b"a,\0b", b"\xff\xfe\0", b"\xef\xbb\xbf\xff"])
def test_bytes_that_are_no_text_are_refused(data: bytes, tmp_path: Path) -> None:
    assert "is no text in UTF-8" in refusal(ReadCSV, data, tmp_path)


ROUNDS = {"docx": 80, "pptx": 80, "xlsx": 20}  # openpyxl is slow
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 41))]
TOOLS = {"docx": ReadDOCX, "pptx": ReadPPTX, "xlsx": ReadXLSX}
KINDS = {"docx": "Word document", "pptx": "presentation", "xlsx": "workbook"}
ODD = (
    "",
    "0",
    "-1",
    "1",
    "true",
    "99999999999",
    "9" * 5000,
    "1e309",
    "nan",
    "NULL",
    "../../x",
    "/",
    "rId1",
    "\u2028",
    "%",
)

Parts = dict[str, bytes]


# --- files to damage


def document(path: Path) -> None:
    note = "<w:p><w:r><w:t>note</w:t><w:{}Reference w:id='1'/></w:r></w:p>"
    field = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
    body = (
        "<w:p><w:r><w:t>one</w:t><w:tab/><w:br/><w:sym w:font='Symbol' w:char='F061'/><w:footnoteReference w:id='1'/>"
        "<w:endnoteReference w:id='1'/><w:commentReference w:id='1'/></w:r><w:ins><w:r><w:t>two</w:t></w:r></w:ins>"
        f"{field.format('begin')}<w:r><w:instrText>X</w:instrText></w:r>{field.format('separate')}"
        f"<w:r><w:t>3</w:t></w:r>{field.format('end')}<w:fldSimple><w:r><w:t>four</w:t></w:r></w:fldSimple></w:p>"
        "<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr>"
        "</w:tbl>"
        "<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
        "<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>"
        "</mc:Choice><mc:Fallback><w:txbxContent><w:p/></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>"
        "<w:r><w:drawing><c:chart r:id='charts_chart1'/><dgm:relIds r:dm='diagrams_data1'/></w:drawing></w:r></w:p>"
        "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>"
    )
    parts = {
        "header1.xml": xml("w:hdr", "<w:p><w:r><w:t>head</w:t></w:r></w:p>"),
        "styles.xml": xml("w:styles", "<w:style w:styleId='a'><w:name w:val='heading 1'/></w:style>"),
        "charts/chart1.xml": CHART,
        "diagrams/data1.xml": DIAGRAM,
        **{
            f"{kind}s.xml": xml(f"w:{kind}s", f"<w:{kind} w:id='1' w:author='A'>{note.format(kind)}</w:{kind}>")
            for kind in ("footnote", "endnote", "comment")
        },
    }
    office_files.word(path, body, parts)


CHART = xml(
    "c:chartSpace",
    "<c:date1904 val='0'/><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>T</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    "<c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>S</c:v></c:pt></c:strCache>"
    "</c:strRef></c:tx><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx='0'><c:v>x</c:v></c:pt></c:lvl>"
    "<c:lvl><c:pt idx='0'><c:v>y</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val><c:numRef>"
    "<c:numCache><c:formatCode>yyyy</c:formatCode><c:pt idx='0'><c:v>4.5</c:v></c:pt></c:numCache></c:numRef></c:val>"
    "</c:ser></c:barChart></c:plotArea></c:chart>",
)
DIAGRAM = xml(
    "dgm:dataModel",
    "<dgm:pt modelId='0' type='doc'/><dgm:pt modelId='1'><dgm:t><a:p><a:r><a:t>d</a:t></a:r></a:p></dgm:t></dgm:pt>"
    "<dgm:cxn srcId='0' destId='1' srcOrd='0'/>",
)


def presentation(path: Path) -> None:
    text = "<p:txBody><a:p><a:r><a:t>text</a:t></a:r><a:br/><a:fld><a:t>1</a:t></a:fld></a:p></p:txBody>"
    shapes = (
        f"<p:sp><p:nvSpPr><p:nvPr><p:ph type='title'/></p:nvPr></p:nvSpPr>{text}</p:sp><p:grpSp><p:sp>{text}</p:sp>"
        "</p:grpSp><p:graphicFrame><a:graphic><a:tbl><a:tr><a:tc><a:txBody><a:p/></a:txBody></a:tc></a:tr></a:tbl><c:chart"
        " r:id='charts_chart1'/><dgm:relIds r:dm='diagrams_data1'/></a:graphic></p:graphicFrame><p:pic/>"
    )
    parts = {
        "charts/chart1.xml": CHART,
        "diagrams/data1.xml": DIAGRAM,
        "notesSlides/notesSlide1.xml": xml("p:notes", f"<p:cSld><p:spTree><p:sp>{text}</p:sp></p:spTree></p:cSld>"),
        "comments/comments1.xml": xml("p:cmLst", "<p:cm authorId='0'><p:text>c</p:text></p:cm>"),
        "commentAuthors.xml": xml("p:cmAuthorLst", "<p:cmAuthor id='0' name='A'/>"),
    }
    office_files.presentation(path, [shapes, shapes], parts)


def workbook(path: Path) -> None:
    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["tea", "eur"], ["Mint", 2.8], ["Chai", "=B2*2"]):
        sheet.append(row)
    sheet["B2"].style, sheet["A1"].font = "Percent", Font(bold=True)
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D1")
    book.save(path)


MAKERS = {"docx": document, "pptx": presentation, "xlsx": workbook}


# --- damage


def damaged(parts: Parts, chance: random.Random) -> bytes:
    """The file with one to five damages."""
    held = dict(parts)
    damages = [*[in_tree] * chance.choice((0, 1, 1, 4)), chance.choice((in_tree, in_bytes, deepened, elsewhere))]
    for damage in damages:
        damage(held, chance.choice(sorted(held)), chance)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in held.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def in_tree(held: Parts, name: str, chance: random.Random) -> None:
    try:
        root = ElementTree.fromstring(held[name])
    except ElementTree.ParseError:
        return
    elements = list(root.iter())
    at, other = chance.choice(elements), chance.choice(elements)
    change = chance.choice((dropped, doubled, renamed, put_inside, nested, valued, valued, unvalued, said))
    change(at, other, chance)
    held[name] = ElementTree.tostring(root)


def dropped(at: Element, other: Element, chance: random.Random) -> None:
    if len(at):
        at.remove(chance.choice(list(at)))


def doubled(at: Element, other: Element, chance: random.Random) -> None:
    at.extend([copy.deepcopy(one) for one in at] * chance.choice((1, 5)))


def renamed(at: Element, other: Element, chance: random.Random) -> None:
    at.tag = chance.choice((other.tag, other.tag.rpartition("}")[2], "x"))


def put_inside(at: Element, other: Element, chance: random.Random) -> None:
    at.append(copy.deepcopy(other))


def nested(at: Element, other: Element, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 30))):
        inner = Element(at.tag, at.attrib)
        at.append(inner)
        at = inner


def valued(at: Element, other: Element, chance: random.Random) -> None:
    if at.attrib:
        at.set(chance.choice(sorted(at.attrib)), chance.choice((*ODD, *other.attrib.values())))


def unvalued(at: Element, other: Element, chance: random.Random) -> None:
    at.attrib.clear()


def said(at: Element, other: Element, chance: random.Random) -> None:
    at.text = chance.choice(ODD)


def in_bytes(held: Parts, name: str, chance: random.Random) -> None:
    part = held[name]
    at = chance.randrange(len(part) + 1)
    put = chance.choice((b"", b"<", b"&", b"0", b'"', b"\xff"))
    held[name] = part[:at] + put + part[at + chance.choice((0, 1, 9)) :]


def deepened(held: Parts, name: str, chance: random.Random) -> None:
    at, depth = held[name].rfind(b"</"), chance.choice((100, 3000))
    if at > 0:
        held[name] = held[name][:at] + b"<x>" * depth + b"</x>" * depth + held[name][at:]


def elsewhere(held: Parts, name: str, chance: random.Random) -> None:
    """The part is missing, lies under another name, or holds what another one should."""
    other = chance.choice(sorted(held))
    part = held.pop(name)
    held[chance.choice((name.upper(), other, name + " ", name.replace("/", "\\")))] = part


# --- what comes of it


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parts]:
    folder = tmp_path_factory.mktemp("whole")
    found = {}
    for suffix, make in MAKERS.items():
        make(folder / suffix)
        with zipfile.ZipFile(folder / suffix) as archive:
            found[suffix] = {name: archive.read(name) for name in archive.namelist() if "theme" not in name}
    return found


def outcome(act: Callable[[], str]) -> tuple[str | None, str]:
    """The text, or the refusal."""
    try:
        return act(), ""
    except ToolError as error:
        return None, str(error)


@contextmanager
def only_too_deep(what: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise ToolError(f"{what} is nested too deeply") from None


@pytest.mark.filterwarnings("ignore::UserWarning:openpyxl")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("suffix", TOOLS)
def test_random_damage_gives_a_text_or_one_sentence(
    suffix: str, seed: int, whole: dict[str, Parts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, path = random.Random(f"{suffix} {seed}"), tmp_path / f"a.{suffix}"
    tool = TOOLS[suffix](ToolSettings(released=False))
    if suffix != "xlsx":  # no library reads these, so nothing may be raised but a refusal
        for module in (read_office, child):
            monkeypatch.setattr(module, "reading", only_too_deep)
    outcomes = set()
    for _ in range(ROUNDS[suffix]):
        path.write_bytes(damaged(whole[suffix], chance))
        text, refusal = outcome(lambda: tool.apply(tmp_path, file=path))
        judged = child.look(path, KINDS[suffix], read=True)
        assert "\n" not in refusal and "Error" not in refusal and (refusal or text is not None)
        if suffix != "xlsx":  # the judge shows sheets in a form of its own
            assert judged.get("text") == text
        outcomes.add(text is not None)
    assert outcomes == {True, False}
