"""Broken and hostile documents: each gives one clear ToolError, soon and in little memory."""

from __future__ import annotations

import io
import random
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
from tool_impls.documents import ReadCSV, ReadDOCX, ReadPDF, ReadPPTX, ReadXLSX, package, read_tables
from tool_impls.documents.package import Package
from tool_impls.documents.read_tables import sheets
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
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(suffix: str, share: float, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = sound[suffix]
    assert "cut off" in refusal(OFFICE[suffix], data[: int(len(data) * share)], tmp_path)


@each_office
def test_a_bomb_is_refused_by_its_ratio(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = changed(sound[suffix], {"extra.bin": bytes(40 * 2**20)})
    assert "times its size" in refusal(OFFICE[suffix], data, tmp_path)


@each_office
def test_a_bomb_is_refused_by_its_total(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = patched(changed(sound[suffix], {"extra.bin": b"x"}), "extra.bin", size=2**32 - 2)
    assert "would unpack to 4,09" in refusal(OFFICE[suffix], data, tmp_path)


@each_office
def test_a_part_that_is_larger_than_it_claims_is_refused(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = patched(changed(sound[suffix], {"extra.bin": bytes(64 * 2**20)}), "extra.bin", size=100)
    assert "more than the 100 bytes" in refusal(OFFICE[suffix], data, tmp_path)


@each_office
def test_a_part_that_is_smaller_than_it_claims_is_refused(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = patched(sound[suffix], MAIN[suffix], size=2**20)
    assert "damaged" in refusal(OFFICE[suffix], data, tmp_path)


def test_too_many_parts_are_refused(tmp_path: Path) -> None:
    data = zipped({f"{number}.xml": b"" for number in range(package.MAX_PARTS + 1)})
    assert "10,001 parts" in refusal(ReadDOCX, data, tmp_path)


def test_a_directory_of_millions_of_parts_is_not_even_listed(tmp_path: Path) -> None:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 200_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 7, 7, len(directory), 0, 0)
    assert "directory of 9 MB" in refusal(ReadDOCX, b"PK" + directory + end, tmp_path)


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


@pytest.mark.parametrize(
    "name", ["[Content_Types].xml", "_rels/.rels", "word/styles.xml", "word/anything.bin", "unused"]
)
def test_document_types_are_refused_in_any_part(name: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    data = changed(sound["docx"], {name: b" \n" + EVIL["plain"].encode()})
    assert repr(name) in refusal(ReadDOCX, data, tmp_path)


def test_a_document_type_does_not_hide_behind_white_space(sound: dict[str, bytes], tmp_path: Path) -> None:
    data = changed(sound["docx"], {"word/anything.bin": b" " * 200_000 + EVIL["plain"].encode()})
    assert "declares a document type" in refusal(ReadDOCX, data, tmp_path)


@pytest.mark.parametrize("name", ["main.svg", "main.bin"])
def test_what_is_kept_as_it_is_or_is_no_xml_is_no_main_part(name: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    main = EVIL["laughs"].encode() if name.endswith(".svg") else b"no XML"
    relations = (b"word/document.xml", f"word/{name}".encode())
    parts = {f"word/{name}": main, "_rels/.rels": lambda part: part.replace(*relations)}
    message = refusal(ReadDOCX, changed(sound["docx"], parts), tmp_path)
    assert repr(f"word/{name}") in message


def test_equations_are_read_once_however_deep_they_are(sound: dict[str, bytes], tmp_path: Path) -> None:
    space = b"http://schemas.openxmlformats.org/officeDocument/2006/math"
    scripts = b"<m:sSup><m:e/><m:sup>" * 60 + b"<m:r><m:t>inmost</m:t></m:r>" + b"</m:sup></m:sSup>" * 60
    whole = b'<m:oMath xmlns:m="%s">%s</m:oMath><w:sectPr' % (space, scripts)
    data = changed(sound["docx"], {MAIN["docx"]: lambda part: part.replace(b"<w:sectPr", whole, 1)})
    (tmp_path / "a").write_bytes(data)
    assert "inmost" in read(ReadDOCX, tmp_path / "a")


def test_a_drawing_with_a_document_type_is_only_a_picture(sound: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(changed(sound["docx"], {"word/media/image1.svg": b"<!DOCTYPE svg><svg/>"}))
    assert "hello" in read(ReadDOCX, path)


@each_office
@pytest.mark.parametrize("encoding", ["utf-32", "cp037", "utf-7"])
def test_encodings_that_office_does_not_use_are_refused(
    suffix: str, encoding: str, sound: dict[str, bytes], tmp_path: Path
) -> None:
    data = changed(
        sound[suffix], {MAIN[suffix]: f"<?xml version='1.0' encoding='{encoding}'?><a>+ADw-</a>".encode(encoding)}
    )
    assert "not well-formed XML in UTF-8 or UTF-16" in refusal(OFFICE[suffix], data, tmp_path)


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


def test_tables_nested_deeply_are_read_or_refused(sound: dict[str, bytes], tmp_path: Path) -> None:
    for depth, found in ((10, True), (60, True), (5_000, False)):
        nested = (
            b"<w:tbl><w:tr><w:tc>" * depth
            + b"<w:p><w:r><w:t>inmost</w:t></w:r></w:p>"
            + b"</w:tc></w:tr></w:tbl>" * depth
        )
        data = changed(
            sound["docx"],
            {MAIN["docx"]: lambda part, nested=nested: part.replace(b"<w:sectPr", nested + b"<w:sectPr", 1)},
        )
        (tmp_path / "a").write_bytes(data)
        if found:
            assert "inmost" in read(ReadDOCX, tmp_path / "a")
        else:
            assert "can be read" in refusal(ReadDOCX, data, tmp_path)


def test_a_cell_that_claims_to_span_a_billion_columns_is_one_cell(sound: dict[str, bytes], tmp_path: Path) -> None:
    span = b'<w:tc><w:tcPr><w:gridSpan w:val="1000000000"/>'
    (tmp_path / "a").write_bytes(
        changed(sound["docx"], {MAIN["docx"]: lambda part: part.replace(b"<w:tc><w:tcPr>", span)})
    )
    assert read(ReadDOCX, tmp_path / "a").endswith("cell | ")


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
    ("rows", "shown"),
    [
        ('<row r="1"><c r="A1"><v>7</v></c></row>', "7"),
        ('<row r="1"><c r="XFD1"><v>7</v></c></row>', "," * 16_383 + "7"),
        ('<row r="1"/><row r="3"><c r="A3"><v>7</v></c></row>', "\n\n7"),
        ('<row r="1"><c r="A1"><f>1+1</f></c></row>', "=1+1"),
        ('<row r="1"><c r="A1" t="e"><v>#DIV/0!</v></c></row>', "#DIV/0!"),
        ("".join(f'<row r="{row}"><c r="XFD{row}"/></row>' for row in range(1, 400)), ""),
    ],
)
def test_sheets_are_as_large_as_what_they_hold(rows: str, shown: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(sheet(sound["xlsx"], rows, "A1:XFD1048576"))
    assert read(ReadXLSX, tmp_path / "a") == shown


def test_a_million_empty_rows_are_one_line(sound: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(sheet(sound["xlsx"], '<row r="1048576"><c r="A1048576"><v>7</v></c></row>'))
    assert read(ReadXLSX, tmp_path / "a") == "[1,048,575 empty rows]\n7"


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="ZZZZZZZZ1"><v>7</v></c></row>',
        '<row r="x"><c r="A1"><v>7</v></c></row>',
    ],
)
def test_cells_in_wrong_places_are_refused(rows: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    assert "can be read" in refusal(ReadXLSX, sheet(sound["xlsx"], rows), tmp_path)


def test_sheets_of_countless_empty_rows_are_refused(
    monkeypatch: pytest.MonkeyPatch, sound: dict[str, bytes], tmp_path: Path
) -> None:
    monkeypatch.setattr(read_tables, "MAX_ROWS", 50_000)
    rows = '<row r="99999999999"><c r="A99999999999"><v>7</v></c></row>'
    assert "nearly all empty" in refusal(ReadXLSX, sheet(sound["xlsx"], rows), tmp_path)


def test_a_workbook_is_closed_though_its_rows_are_not_read_to_the_end(sound: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "file.xlsx"
    numbers = random.Random(7)
    cells = "".join(f"<row><c><v>{numbers.getrandbits(60)}</v></c></row>" for _ in range(20_000))
    path.write_bytes(sheet(sound["xlsx"], cells))
    with Package(path) as package:
        rows = sheets(package)[0].rows()
        assert len(next(rows)) == 1
    with pytest.raises(ToolError):
        list(rows)


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


def test_a_pdf_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    data = pdf(page())
    for share in (0.05, 0.2, 0.3):
        assert "can be read" in refusal(ReadPDF, data[: int(len(data) * share)], tmp_path)


def test_ten_thousand_pages_are_refused(tmp_path: Path) -> None:
    kids = b" ".join(b"%d 0 R" % number for number in range(3, 10_003))
    objects = {1: CATALOGUE, 2: b"<</Type/Pages/Count 10000/Kids[%s]>>" % kids}
    objects |= dict.fromkeys(range(3, 10_003), b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>")
    assert "more than 1,000 pages" in refusal(ReadPDF, pdf(objects), tmp_path)


def test_the_page_limit_is_an_option(tmp_path: Path) -> None:
    kids = b" ".join([b"3 0 R"] * 5)
    (tmp_path / "a").write_bytes(pdf({**page(), 2: b"<</Type/Pages/Count 5/Kids[%s]>>" % kids}))
    assert read(ReadPDF, tmp_path / "a", pages=5).count("hello") == 5
    with pytest.raises(ToolError, match="more than 4 pages"):
        read(ReadPDF, tmp_path / "a", pages=4)


@pytest.mark.parametrize("count", [b"1", b"-5", b"999999999", b"(x)"])
def test_the_claimed_number_of_pages_is_not_believed(count: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pdf({**page(), 2: b"<</Type/Pages/Count %s/Kids[3 0 R 3 0 R]>>" % count}))
    assert read(ReadPDF, tmp_path / "a").count("hello") == 2


@pytest.mark.parametrize("kids", [b"2 0 R", b"3 0 R 2 0 R", b"7 0 R"])
def test_pages_in_a_circle_are_refused(kids: bytes, tmp_path: Path) -> None:
    data = pdf({**page(), 2: b"<</Type/Pages/Count 1/Kids[%s]>>" % kids, 7: b"<</Type/Pages/Count 1/Kids[2 0 R]>>"})
    assert "in a circle" in refusal(ReadPDF, data, tmp_path)


def test_a_deep_tree_of_pages_is_refused(tmp_path: Path) -> None:
    objects = {1: CATALOGUE, 3000: b"<</Type/Page/MediaBox[0 0 9 9]>>"}
    objects |= {number: b"<</Type/Pages/Count 1/Kids[%d 0 R]>>" % (number + 1) for number in range(2, 3000)}
    assert "levels deep" in refusal(ReadPDF, pdf(objects), tmp_path)


def test_a_tree_that_doubles_at_each_level_is_refused(tmp_path: Path) -> None:
    objects = {1: CATALOGUE, 40: b"<</Type/Page/MediaBox[0 0 9 9]>>"}
    objects |= {
        number: b"<</Type/Pages/Count 1/Kids[%d 0 R %d 0 R]>>" % (number + 1, number + 1) for number in range(2, 40)
    }
    assert refusal(ReadPDF, pdf(objects), tmp_path)


def test_deep_arrays_are_refused(tmp_path: Path) -> None:
    data = pdf({1: CATALOGUE, 2: b"<</Type/Pages/Count 1/Kids" + b"[" * 20_000 + b"]" * 20_000 + b">>"})
    assert "can be read" in refusal(ReadPDF, data, tmp_path)


def test_cross_references_in_a_circle_end(tmp_path: Path) -> None:
    data = pdf(page())
    start = data.rindex(b"xref\n0")
    (tmp_path / "a").write_bytes(pdf(page(), b"/Prev %d" % start))
    assert read(ReadPDF, tmp_path / "a").strip() == "hello"


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


def test_an_unknown_encryption_is_refused(tmp_path: Path) -> None:
    trailer = (
        b"/Encrypt <</Filter/Standard/V 5/R 6/O<00>/U<00>/P -4/CF<</StdCF<</CFM/AESV3>>>>/StmF/StdCF/StrF/StdCF>>"
        b" /ID[<00><00>]"
    )
    assert refusal(ReadPDF, pdf(page(), trailer), tmp_path)


# --- CSV, and any bytes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff", b"a,\0b", b"\xff\xfe\0", b"\xef\xbb\xbf\xff"])
def test_bytes_that_are_no_text_are_refused(data: bytes, tmp_path: Path) -> None:
    assert "is no text in UTF-8" in refusal(ReadCSV, data, tmp_path)


def test_a_quote_that_never_ends_is_one_cell(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b'a,"' + b"b\n" * 200_000)
    assert read(ReadCSV, tmp_path / "a").startswith('a,"b\nb\n')


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx", "pdf"])
def test_damage_anywhere_gives_a_text_or_a_clear_error(suffix: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    """Random damage, the same each time, also within the unpacked XML."""
    source = random.Random(suffix)
    data = pdf(page()) if suffix == "pdf" else sound[suffix]
    outcomes = set()
    for round_ in range(60):
        made = bytearray(data)
        if suffix != "pdf" and round_ % 2:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                name = source.choice(
                    [name for name in archive.namelist() if "theme" not in name and "docProps" not in name]
                )
                part = archive.read(name)
            at = source.randrange(len(part))
            made = bytearray(
                changed(data, {name: part[:at] + source.choice([b"0", b"<", b"", b"&", b'"']) + part[at + 1 :]})
            )
        else:
            for _ in range(source.choice([1, 5, 50])):
                made[source.randrange(len(made))] = source.randrange(256)
        (tmp_path / "a").write_bytes(made)
        try:
            read(OFFICE.get(suffix, ReadPDF), tmp_path / "a")
            outcomes.add("text")
        except ToolError:
            outcomes.add("refused")
    assert outcomes == {"text", "refused"}
