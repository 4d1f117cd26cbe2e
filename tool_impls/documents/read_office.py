"""Reading texts of Office: ReadDOCX and ReadPPTX (docs/benchmarks/tools.md#reading-documents)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.office_text import Note, OfficeText
from tool_impls.documents.package import (
    Package,
    below,
    check_office,
    child,
    children,
    local,
    plain,
    reading,
    relation,
    value,
)
from tool_impls.documents.plain_text import ReadingTool
from tool_impls.settings import Option

if TYPE_CHECKING:
    from tool_impls.settings import ToolSettings

DOCUMENT, PRESENTATION = "a DOCX document", "a PPTX presentation"
LAID_OUT = ("sldNum", "dt", "hdr", "ftr", "sldImg")
"""What a page of notes shows beside the notes."""


class ReadDOCX(ReadingTool):
    meta = base.tool(
        "ReadDOCX",
        "Shows the text of a Word document.",
        (Parameter("file", "file", "The document (.docx).", filetype="file"),),
        base.TEXT_OUT,
    )
    version = 2
    packages = ("docx",)
    options = (
        *ReadingTool.options,
        Option(
            "tables", "bool", True, "show all text; else what python-docx takes for paragraphs only", released=False
        ),
    )

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return "Python" if settings.value(cls.meta.name, cls.options[-1]) else "python-docx"

    def apply(self, folder: Path, /, file: Path) -> str:
        check_office(file, DOCUMENT, well_formed=not self.option("tables"))
        with reading(DOCUMENT):
            if self.option("tables"):
                with Package(file) as package:
                    return self.shown(document_lines(package))
            import docx

            with file.open("rb") as stream:
                return self.shown(paragraph.text for paragraph in docx.Document(stream).paragraphs)


class ReadPPTX(ReadingTool):
    meta = base.tool(
        "ReadPPTX",
        "Shows the text of a PowerPoint presentation.",
        (Parameter("file", "file", "The presentation (.pptx).", filetype="file"),),
        base.TEXT_OUT,
    )
    version = 2
    packages = ("pptx",)
    options = (
        *ReadingTool.options,
        Option("groups", "bool", True, "show the text of grouped shapes", released=False),
        Option("tables", "bool", True, "show tables", released=False),
        Option("notes", "bool", True, "show notes and comments after each slide", released=False),
    )

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        kinds = (settings.value(cls.meta.name, option) for option in cls.options[-3:])
        return "Python" if any(kinds) else "python-pptx"

    def apply(self, folder: Path, /, file: Path) -> str:
        groups, tables, notes = (bool(self.option(name)) for name in ("groups", "tables", "notes"))
        check_office(file, PRESENTATION, well_formed=not (groups or tables or notes))
        with reading(PRESENTATION):
            if groups or tables or notes:
                without = [name for name, kept in (("grpSp", groups), ("tbl", tables)) if not kept]
                with Package(file) as package:
                    return self.shown(_slides_lines(package, without, notes))
            import pptx

            with file.open("rb") as stream:
                return self.shown(_released(pptx.Presentation(stream)))


def _released(presentation: Any) -> Iterator[str]:
    for slide in presentation.slides:
        for shape in slide.shapes:
            if shape.has_text_frame:
                yield shape.text_frame.text.replace("\v", "\n")  # a line end within a paragraph


def document_text(package: Package) -> tuple[OfficeText, Element]:
    """The reader of a document's main part, and its root. Raises ToolError where the file is of another kind."""
    part, root = package.main("document", DOCUMENT)
    notes: dict[tuple[str, str], Note] = {}
    for of_notes, notes_root in _roots(package, part, "footnotes", "endnotes", "comments"):
        reader = OfficeText(package, of_notes, notes_root, notes)
        for note in notes_root:
            author = value(note, "author")
            label = local(note) + (f" by {author}" if author else "")
            notes[f"{local(note)}Reference", value(note, "id")] = Note(label, note, reader)
    return OfficeText(package, part, root, notes), root


def document_lines(package: Package) -> Iterator[str]:
    """Headers, the text with notes and comments where they are referred to, and footers."""
    text, root = document_text(package)
    yield from _around("Header", package, text.part, root)
    yield from text.lines(root)
    yield from _around("Footer", package, text.part, root)


def _around(label: str, package: Package, part: str, root: Element) -> Iterator[str]:
    """The headers or footers of all sections, each text once."""
    marks = below(root, f"{label.lower()}Reference")
    targets = dict.fromkeys(package.related(part, relation(mark)) for mark in marks)
    found = ((target, package.root(target)) for target in targets if target is not None)
    lines = (OfficeText(package, target, one).line(one).strip() for target, one in found if one is not None)
    yield from (f"{label}: {line}" for line in dict.fromkeys(lines) if line)


def slides(package: Package) -> Iterator[tuple[str, Element | None]]:
    """The parts of the slides and their roots, in the order of the presentation; None for one that is missing. Raises
    ToolError where the file is of another kind.
    """
    part, root = package.main("presentation", PRESENTATION)
    for mark in children(child(root, "sldIdLst")):
        target = package.related(part, relation(mark)) or ""
        yield target, package.root(target)


def _slides_lines(package: Package, without: list[str], notes: bool) -> Iterator[str]:
    authors = _authors(package)
    for place, (part, slide) in enumerate(slides(package), start=1):
        if slide is None:
            yield f"[slide {place} is missing from the file]"
            continue
        if value(slide, "show") in ("0", "false"):
            yield "Hidden slide:"
        yield from OfficeText(package, part, slide, without=without).lines(slide)
        if notes:
            for of_notes, page in _roots(package, part, "notesSlide"):
                text = "\n".join(_notes_lines(OfficeText(package, of_notes, page), page))
                if text.strip():
                    yield f"Notes: {text}"
            for _, comments in _roots(package, part, "comments"):
                yield from _comments(comments, authors)


def _notes_lines(reader: OfficeText, page: Element) -> Iterator[str]:
    for shape in children(child(page, "cSld", "spTree")):
        if value(child(shape, "nvSpPr", "nvPr", "ph"), "type") not in LAID_OUT:
            yield from reader.lines(shape)


def _comments(root: Element, authors: dict[str, str]) -> Iterator[str]:
    """Comments in both forms that PowerPoint has, with their replies."""
    for comment in root:
        for one in (comment, *children(child(comment, "replyLst"))):
            author, text = authors.get(value(one, "authorId"), ""), child(one, "text")
            said = plain(child(one, "txBody")) if text is None else (text.text or "").strip()
            yield f"{'Comment' if one is comment else 'Reply'}{f' by {author}' if author else ''}: {said}"


def _authors(package: Package) -> dict[str, str]:
    part, _ = package.main("presentation", PRESENTATION)
    found = (root for _, root in _roots(package, part, "commentAuthors", "authors"))
    return {value(author, "id"): value(author, "name") for root in found for author in root}


def _roots(package: Package, part: str, *kinds: str) -> Iterator[tuple[str, Element]]:
    """The parts to which a part has relations of these kinds, as far as the file holds them."""
    for target in package.parts(part, *kinds):
        root = package.root(target)
        if root is not None:
            yield target, root
