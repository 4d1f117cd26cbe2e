"""ReadPDF (GTA tools spec 5.2)."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.bounds import PAGE_SIDE, PDF_PAGES
from tool_impls.documents.guard import check_pdf, reading
from tool_impls.documents.reading import ReadingTool
from tool_impls.documents.words import clean
from tool_impls.options import Option
from tool_impls.perception import ocr

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

    from tool_impls.settings import ToolSettings

PAGES = Option("pages", "int", PDF_PAGES, "most pages of a file that is read; a longer one is refused", least=1)
OCR = Option("ocr", "bool", False, "read pages without text as pictures")
NOTES = Option("notes", "bool", True, "add notes and the values of form fields to their pages", released=False)

SIGNS = 200  # of a page that show how its text is turned

_one_caller = threading.Lock()  # pdfium takes one at a time


class ReadPDF(ReadingTool):
    """Shows the text of a PDF. Pages are separated by a line end, as released. With ``ocr``, pages without text are
    read as pictures.
    """

    version = 2
    meta = base.tool(
        "ReadPDF",
        "Shows the text of a PDF document.",
        (Parameter("file", "file", "The document (.pdf).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("pypdfium2",)
    options = (*ReadingTool.options, PAGES, OCR, NOTES)

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return "pypdfium2, RapidOCR" if settings.value(cls.meta.name, OCR) else "pypdfium2"

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return bool(settings.value(cls.meta.name, OCR))

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        missing = base.missing_package(ocr.PACKAGES) if settings.value(cls.meta.name, OCR) else None
        reason = f"ocr in [tools.ReadPDF] needs the Python package {missing}; install agentgauge[tools]"
        return base.unavailable(reason) if missing else base.READY

    def apply(self, folder: Path, /, file: Path) -> str:
        with opened_pdf(file, self.option("pages")) as document:
            return self.shown(self._texts(document))

    def _texts(self, document: PdfDocument) -> Iterator[str]:
        seen: set[str] = set()  # a field has a place on each of several pages
        for page in document:
            text = page_text(page)
            if not text.strip() and self.option("ocr"):
                image = page.render(scale=PAGE_SIDE / max(*page.get_size(), 1.0)).to_pil()
                text = "\n".join(block.text for block in ocr.reader().lines(image))
            if self.option("notes"):
                added = dict.fromkeys(line for line in _added(document, page) if line not in seen)
                seen.update(added)
                text = "\n".join([*([text] if text else []), *added])
            yield text


@contextmanager
def opened_pdf(path: Path, most: int) -> Iterator[PdfDocument]:
    """A PDF without a password, or with an empty one, as files have that only forbid printing.

    Other threads wait until it is closed. Raises ToolError for what is no PDF, for a password, for damage, also in the
    body of the ``with`` statement, and for more than ``most`` pages.
    """
    import pypdfium2

    check_pdf(path)
    with _one_caller, reading("a PDF"):
        try:
            document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
                raise ToolError("the PDF is protected by a password; save it without one") from None
            if error.err_code == pypdfium2.raw.FPDF_ERR_SECURITY:
                reason = "the PDF is encrypted in a way that cannot be read here"
                raise ToolError(f"{reason}; save it without encryption") from None
            raise
        with closing(document):
            document.init_forms()
            if len(document) > most:
                advice = "give a shorter one, or raise pages in [tools.ReadPDF]"
                raise ToolError(f"the PDF has more than {most:,} pages; {advice}")
            if len(document) == 0:
                raise ToolError("the PDF has no pages")
            yield document


def page_text(page: PdfPage) -> str:
    """The text of a page. A page that shows its text turned is turned back, so that its lines come in order."""
    with closing(page.get_textpage()) as text:
        turned = _turned(text)
        written = text.get_text_range()
    if turned != page.get_rotation():
        page.set_rotation(turned)
        with closing(page.get_textpage()) as text:
            written = text.get_text_range()
    lines = str(written).replace("\r\n", "\n").replace("\r", "")
    return clean(lines.replace("\ufffe", "-\n"))  # pdfium's sign for a hyphen at the end of a line


def _turned(text: PdfTextPage) -> int:
    """By how many degrees a page has to be turned for most of its text to be upright."""
    from pypdfium2 import raw

    count = text.count_chars()
    places = range(0, count, count // SIGNS + 1)
    signs = (place for place in places if raw.FPDFText_GetUnicode(text, place) > ord(" "))
    angles = Counter(round(2 * raw.FPDFText_GetCharAngle(text, sign) / pi) % 4 * 90 for sign in signs)
    return angles.most_common(1)[0][0] if angles else text.page.get_rotation()


def _added(document: PdfDocument, page: PdfPage) -> Iterator[str]:
    """The values of a page's form fields and the notes of its readers."""
    from pypdfium2 import raw

    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if kind == raw.FPDF_ANNOT_WIDGET and document.formenv:
                value = _string(raw.FPDFAnnot_GetFormFieldValue, document.formenv, annotation)
                name = _string(raw.FPDFAnnot_GetFormFieldName, document.formenv, annotation)
                if value.strip():
                    yield f"Field {name}: {value}"
            elif kind not in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
                content = _string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
                if content.strip():
                    yield f"Note: {content}"
        finally:
            raw.FPDFPage_CloseAnnot(annotation)


def _string(function: Callable[..., int], *arguments: Any) -> str:
    """The text that a function of pdfium writes into a buffer, whose size it says first."""
    from pypdfium2 import raw

    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw.decode("utf-16-le", "replace").rstrip("\0").replace("\r\n", "\n").replace("\r", "\n")
