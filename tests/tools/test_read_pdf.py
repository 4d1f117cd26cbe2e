"""PDFs with passwords, notes, form fields and turned pages."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.facts import facts
from tool_impls.documents import ReadPDF
from tool_impls.settings import ToolSettings

pytest.importorskip("pypdf")
pytest.importorskip("cryptography")


def read(path: Path, released: bool = False, **options: Any) -> str:
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
    assert read(tmp_path / "a.pdf").strip() == "secret text"
    (judge,) = facts([tmp_path / "a.pdf"], folder=tmp_path)
    assert (judge.broken, judge.text.strip(), judge.measures["pages"]) == ("", "secret text", 1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_password_is_named_as_the_reason(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(encrypted(algorithm, "user"))
    with pytest.raises(ToolError, match=r"^the PDF is protected by a password; save it without one$"):
        read(tmp_path / "a.pdf")
    (judge,) = facts([tmp_path / "a.pdf"], folder=tmp_path)
    assert judge.broken == "the PDF is protected by a password; save it without one"


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
    assert read(tmp_path / "a.pdf") == f"{notes}\nsecond\nthird\nNote: Größe 中"
    assert read(tmp_path / "a.pdf", released=True) == "first\nsecond\nthird" == read(tmp_path / "a.pdf", notes=False)


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
    lines = read(tmp_path / "a.pdf").split("\n")
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
    assert read(tmp_path / "a.pdf") == f"Field field: {shown}"


@pytest.mark.parametrize("lost", [b"%%EOF", b"startxref", b"xref"])
def test_files_without_their_last_lines_are_read(lost: bytes, tmp_path: Path) -> None:
    whole = drawn(lambda page: page.drawString(72, 700, "hello"))
    (tmp_path / "a.pdf").write_bytes(whole[: whole.rindex(lost)])
    assert read(tmp_path / "a.pdf") == "hello"
    (tmp_path / "b.pdf").write_bytes(whole[: whole.rindex(b"trailer")])
    with pytest.raises(ToolError, match="is damaged or of another kind"):
        read(tmp_path / "b.pdf")


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
    assert read(tmp_path / "a.pdf") == "first line\nsecond line\nthird line"
