"""ReadPDF (docs/benchmarks/tools.md#reading-documents)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base, devices
from tool_impls.bounds import PAGE_SIDE, PDF_PAGES
from tool_impls.documents.package import check_size, reading
from tool_impls.documents.plain_text import ReadingTool, clean
from tool_impls.perception import ocr
from tool_impls.settings import Option

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdf import PageObject, PdfReader
    from pypdf.generic import DictionaryObject

    from tool_impls.settings import ToolSettings

PAGES = Option("pages", "int", PDF_PAGES, "most pages of a file that is read; a longer one is refused", least=1)
OCR = Option("ocr", "bool", False, "read pages without text as pictures")
NOTES = Option("notes", "bool", True, "add notes and the values of form fields to their pages", released=False)
DEEPEST = 50  # levels of a page tree; honest ones have about four
LAST_LINES = 2048  # bytes
FIELD = "Field "  # begins the line of a form field
DEEPEST_FIELD = 20  # levels of a field's name
MAX_CONTENT = 16 * 2**20  # bytes of one page's drawing commands, unpacked

_rendering = threading.Lock()  # pdfium takes one caller at a time


class ReadPDF(ReadingTool):
    """Shows the text of a PDF. Pages are separated by a line end, as released. With ``ocr``, pages without text are
    rendered by pypdfium2.
    """

    version = 2
    meta = base.tool(
        "ReadPDF",
        "Shows the text of a PDF document.",
        (Parameter("file", "file", "The document (.pdf).", filetype="file"),),
        base.TEXT_OUT,
    )
    packages = ("pypdf", "cryptography")
    options = (*ReadingTool.options, PAGES, OCR, NOTES)
    _device = devices.CPU

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return "pypdf, RapidOCR" if settings.value(cls.meta.name, OCR) else "pypdf"

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return bool(settings.value(cls.meta.name, OCR))

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        return ocr.TABLE

    @classmethod
    def lacks_gpu(cls, settings: ToolSettings) -> str:
        return ocr.lacks_gpu()

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        missing = base.missing_package((*ocr.PACKAGES, "pypdfium2")) if settings.value(cls.meta.name, OCR) else None
        reason = f"ocr in [tools.ReadPDF] needs the Python package {missing}; install agentgauge[tools]"
        return base.unavailable(reason) if missing else base.READY

    def setup(self, device: str = devices.CPU) -> None:
        self._device = device

    def apply(self, folder: Path, /, file: Path) -> str:
        with opened_pdf(file, self.option("pages")) as reader:
            return self.shown(self._texts(reader, file))

    def _texts(self, reader: PdfReader, file: Path) -> Iterator[str]:
        seen: set[str] = set()  # a field has a place on each of several pages
        for number, page in enumerate(reader.pages):
            text = _text(page, number + 1)
            if not text.strip() and self.option("ocr"):
                text = "\n".join(block.text for block in ocr.reader(self._device).lines(_render(file, number)))
            if self.option("notes"):
                added = dict.fromkeys(line for line in _added(page) if line not in seen)
                seen.update(line for line in added if line.startswith(FIELD))
                if added:
                    text = "\n".join([*([text.rstrip("\n")] if text.strip() else []), *added])
            yield text


@contextmanager
def opened_pdf(path: Path, most: int) -> Iterator[PdfReader]:
    """A PDF without a password, or with an empty one, as files have that only forbid printing.

    Raises ToolError for what is no PDF, for a password, for more than ``most`` pages, and for damage, also in the body
    of the ``with`` statement.
    """
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it grumbles about every oddity of a file
    check_size(path)
    with path.open("rb") as stream, reading("a PDF"):
        if b"%PDF-" not in stream.read(1024):
            raise ToolError("the file is not a PDF: it does not begin as one")
        reader = _reader(stream)
        _unlock(reader)
        _check_pages(reader, most)
        yield reader


def _reader(stream: IO[bytes]) -> PdfReader:
    """Also of a file that lacks its last lines; all of its objects are looked for then."""
    import pypdf
    from pypdf.errors import PdfReadError

    try:
        return pypdf.PdfReader(stream)
    except PdfReadError:
        stream.seek(0)
        data = stream.read()
        if b"trailer" not in data[-LAST_LINES:]:  # objects may be missing, too
            raise
        return pypdf.PdfReader(BytesIO(data + b"\nstartxref\n0\n%%EOF\n"))


def _unlock(reader: PdfReader) -> None:
    from pypdf.errors import DependencyError

    if not reader.is_encrypted:
        return
    try:
        opened = reader.decrypt("")
    except (DependencyError, NotImplementedError):
        raise ToolError("the PDF is encrypted in a way that cannot be read here; save it without encryption") from None
    if not opened:
        raise ToolError("the PDF is protected by a password; save it without one")


def _check_pages(reader: PdfReader, most: int) -> None:
    """Count the pages without trusting what the file claims and without building them.

    Raises ToolError for none, for more than ``most``, and for a tree of pages that is too deep or runs in a circle.
    """
    from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(reader.root_object["/Pages"], 0)]
    pages = nodes = 0
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, IndirectObject):
            number, node = node.idnum, node.get_object()
            if isinstance(node, DictionaryObject) and "/Kids" in node:
                if number in seen:
                    raise ToolError("the file is not a PDF that can be read: its pages refer to each other in a circle")
                seen.add(number)
        if not isinstance(node, DictionaryObject):
            continue
        if depth > DEEPEST:
            depths = f"more than {DEEPEST} levels deep"
            raise ToolError(f"the file is not a PDF that can be read: its pages are nested {depths}")
        nodes += 1
        kids = node.get("/Kids")
        if kids is not None and isinstance(kids := kids.get_object(), ArrayObject):
            waiting += [(kid, depth + 1) for kid in kids]
        else:
            pages += 1
        if pages > most or len(waiting) + nodes > 4 * most + 100:
            advice = "give a shorter one, or raise pages in [tools.ReadPDF]"
            raise ToolError(f"the PDF has more than {most:,} pages; {advice}")
    if pages == 0:
        raise ToolError("the PDF has no pages")


def _text(page: Any, number: int) -> str:
    """The text of a page, or a note where reading it would take minutes."""
    from pypdf.errors import LimitReachedError

    try:
        contents = page.get_contents()
        if contents is None:
            return ""
        if (size := len(contents.get_data())) > MAX_CONTENT:
            return f"[page {number} is left out: its drawing takes {size // 2**20} MB]"
        return str(page.extract_text()).replace("\x7f", "\u2022")  # as other programs read it
    except LimitReachedError:
        return f"[page {number} is left out: its drawing is too large]"


def _added(page: PageObject) -> Iterator[str]:
    """The values of a page's form fields and the notes of its readers."""
    from pypdf.generic import ArrayObject, DictionaryObject

    items = page.get("/Annots", ArrayObject()).get_object()
    for item in items if isinstance(items, ArrayObject) else ():
        annotation = item.get_object()
        if not isinstance(annotation, DictionaryObject):
            continue
        kind = _value(annotation.get("/Subtype"))
        if kind == "Widget":
            field = _with_parents(annotation)
            if (value := _shown(field)).strip():
                name = ".".join(_value(part["/T"]) for part in reversed(field) if "/T" in part)
                yield f"{FIELD}{name}: {value}"
        elif kind not in ("Link", "Popup"):
            content = _value(annotation.get("/Contents"))
            if content.strip():
                yield f"Note: {content}"


def _with_parents(field: DictionaryObject) -> list[DictionaryObject]:
    """A form field and the fields that it is a part of, which have its value and the beginning of its name."""
    from pypdf.generic import DictionaryObject

    found = [field]
    while len(found) < DEEPEST_FIELD and "/Parent" in found[-1]:
        parent = found[-1]["/Parent"]
        if not isinstance(parent, DictionaryObject):
            break
        found.append(parent)
    return found


def _shown(field: list[DictionaryObject]) -> str:
    """The value of a form field as a viewer shows it: a choice by its label, not by what the form would send."""
    from pypdf.generic import ArrayObject

    given = next((part["/V"] for part in field if "/V" in part), field[0].get("/AS"))
    options = next((part["/Opt"] for part in field if "/Opt" in part), None)
    is_button = any(part.get("/FT") == "/Btn" for part in field)  # its values are the places of its labels
    labels = {}
    for place, option in enumerate(options if isinstance(options, ArrayObject) else ()):
        option = option.get_object()
        if isinstance(option, ArrayObject) and len(option) == 2:
            labels[_value(option[0])] = _value(option[1])
        elif is_button:
            labels[str(place)] = _value(option)
    chosen = map(_value, given if isinstance(given, ArrayObject) else [given])
    return ", ".join(labels.get(one, one) for one in chosen)


def _value(value: Any) -> str:
    """A text, or a choice or several of them as text; empty for values of other kinds."""
    from pypdf.generic import ArrayObject, ByteStringObject, NameObject, StreamObject

    value = value.get_object() if value is not None else None
    if isinstance(value, ArrayObject):
        return ", ".join(map(_value, value))
    if isinstance(value, StreamObject):
        value = value.get_data()
    if isinstance(value, ByteStringObject | bytes):
        value = value.decode("latin-1")
    if isinstance(value, NameObject):
        value = value.removeprefix("/")
    return clean(value) if isinstance(value, str) else ""


def _render(file: Path, number: int) -> Image:
    """A page as a picture, ``number`` from 0."""
    import pypdfium2

    with _rendering, closing(pypdfium2.PdfDocument(file)) as document:
        page = document[number]
        image: Image = page.render(scale=PAGE_SIDE / max(*page.get_size(), 1.0)).to_pil()
        return image
