"""Broken and hostile documents: each gives one clear ToolError, soon and in little memory."""

from __future__ import annotations

import io
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from tool_impls.documents import ReadCSV, ReadDOCX, ReadPDF, ReadPPTX, ReadXLSX, package
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


def test_too_many_parts_are_refused(tmp_path: Path) -> None:
    data = zipped({f"{number}.xml": b"" for number in range(package.MAX_PARTS + 1)})
    assert "10,001 parts" in refusal(ReadDOCX, data, tmp_path)


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


@each_office
def test_nesting_is_bounded(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    deep = b"<a>" * 50_000 + b"</a>" * 50_000
    assert "can be read" in refusal(OFFICE[suffix], changed(sound[suffix], {MAIN[suffix]: deep}), tmp_path)


def test_the_number_of_tags_is_bounded(
    monkeypatch: pytest.MonkeyPatch, sound: dict[str, bytes], tmp_path: Path
) -> None:
    monkeypatch.setattr(package, "MAX_TAGS", 20_000)
    data = changed(sound["docx"], {"word/more.xml": b"<a>" + b"<b/>" * 20_000 + b"</a>"})
    assert "more than 20,000 XML tags" in refusal(ReadDOCX, data, tmp_path)


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


@pytest.mark.parametrize("kids", [b"2 0 R", b"3 0 R 2 0 R", b"7 0 R"])
def test_pages_in_a_circle_are_refused(kids: bytes, tmp_path: Path) -> None:
    data = pdf({**page(), 2: b"<</Type/Pages/Count 1/Kids[%s]>>" % kids, 7: b"<</Type/Pages/Count 1/Kids[2 0 R]>>"})
    assert "in a circle" in refusal(ReadPDF, data, tmp_path)


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
