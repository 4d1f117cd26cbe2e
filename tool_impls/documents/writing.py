"""The base classes of tools that write documents, the pictures that they take, and HtmlFileGenerator
(docs/benchmarks/tools.md#writing-documents).
"""

from __future__ import annotations

import html
import re
import zipfile
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import ClassVar

from agentgauge.core.errors import ToolError
from agentgauge.core.pictures import displayed, is_plain
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.bounds import Unreadable, opened_picture
from tool_impls.documents.markdown import Picture, fenced
from tool_impls.documents.plain_text import check_length, clean
from tool_impls.settings import Option

MOST = 200  # pictures in one document
PLAIN = ("PNG", "JPEG")  # kept byte for byte; others become PNG


@dataclass(frozen=True, slots=True)
class PreparedPicture:
    """A picture that every format takes. ``width`` and ``height`` in pixels."""

    data: bytes
    width: int
    height: int

    def stream(self) -> BytesIO:
        return BytesIO(self.data)

    def fitted(self, width: float, height: float, grow: bool = True) -> tuple[float, float]:
        """The picture's size in a box, in the units of the box. ``grow``: also enlarge it beyond its number of
        pixels.
        """
        scale = min(width / self.width, height / self.height)
        scale = scale if grow else min(scale, 1.0)
        return self.width * scale, self.height * scale


class DocumentPictures:
    """The pictures of one call. ``image_paths``: paths between commas; ``files``: by path as the model wrote it."""

    def __init__(self, image_paths: str, files: Mapping[str, Path]) -> None:
        self._numbered = [path.strip() for path in (image_paths or "").split(",") if path.strip()]
        self._files = files
        self._ready: dict[Path, PreparedPicture | None] = {}
        self._shown = 0

    def find(self, picture: Picture) -> PreparedPicture | str:
        """The picture, or the note in its place. Raises ToolError for more pictures than fit in a document."""
        path = picture.path
        if picture.number is not None:
            if not 1 <= picture.number <= len(self._numbered):
                return f"[image {picture.number} is missing: image_paths names {len(self._numbered)}]"
            path = self._numbered[picture.number - 1]
        name = base_name(path or "")
        file = self._files.get(path or "")
        if file is None or not file.is_file():
            return f"[image not found: {name}]"
        if file not in self._ready:
            self._ready[file] = load(file)
        ready = self._ready[file]
        if ready is None:
            return f"[image cannot be read: {name}]"
        self._shown += 1
        if self._shown > MOST:
            raise ToolError(f"the document shows more than {MOST} pictures; leave some out")
        return ready


def base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def load(path: Path) -> PreparedPicture | None:
    """The picture as PNG or JPEG, upright; None for a file that is no picture. Raises ToolError for a picture that is
    too large.
    """
    try:
        with opened_picture(path, "a picture") as image:
            image.load()
            if image.format in PLAIN and is_plain(image):
                return PreparedPicture(path.read_bytes(), *image.size)
            made = displayed(image)
    except Unreadable:
        return None
    buffer = BytesIO()
    made.save(buffer, "PNG")
    return PreparedPicture(buffer.getvalue(), *made.size)


FILENAME = base.text("filename", "Name of the file to make, without folders.")
OUTPUT_DIR = base.optional("text", "output_dir", None, "Has no effect: files lie in the task's output folder.")
TABLES = Option("tables", "bool", True, "with render_markdown, make tables of Markdown tables", released=False)

_CONTENT = "The text. {{image_1}} stands for the first picture of image_paths, and so on."
_PATHS = "Paths of pictures, with commas between them."
_RENDER = (
    "Whether content is Markdown: headings, lists, code, pictures, bold, italic and links. Else it is plain text with"
    " empty lines between paragraphs."
)
IMAGE_PATHS = Parameter("text", "image_paths", _PATHS, optional=True, default="", attach="files")
INPUTS = (
    base.path("content", _CONTENT, "markdown"),
    FILENAME,
    IMAGE_PATHS,
    base.optional("bool", "render_markdown", False, _RENDER),
    OUTPUT_DIR,
)


EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can hold
STAMP = re.compile(rb"(<dcterms:(created|modified)\b[^>]*>)[^<]*(</dcterms:\2>)")


def without_times(path: Path) -> None:
    """Rewrite an office file with fixed times in its properties and its archive, so that equal calls make equal
    files.
    """
    with zipfile.ZipFile(path) as archive:
        parts = [(part.filename, archive.read(part)) for part in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts:
            fixed = STAMP.sub(rb"\g<1>1980-01-01T00:00:00Z\g<3>", data) if name == "docProps/core.xml" else data
            part = zipfile.ZipInfo(name, EPOCH)
            part.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(part, fixed)


def write_text(path: Path, text: str, name: str) -> Path:
    """Write a text as UTF-8. ``name``: the input that it comes from, for the ToolError if it cannot be encoded."""
    try:
        path.write_bytes(text.encode())
    except UnicodeEncodeError:
        raise ToolError(f"{name} holds half of a character (a lone surrogate), which no file can hold") from None
    return path


class FileGenerator(base.BenchTool):
    """Makes a file and reads none but those of its call."""

    category = "operation"
    confined = True
    concurrency = 2


class WritingTool(FileGenerator):
    """Makes a document from plain text or Markdown, with pictures. ``INPUTS`` are its inputs."""

    version = 2  # Markdown is CommonMark
    seconds = 120.0
    suffix: ClassVar[str]

    def apply(
        self,
        folder: Path,
        /,
        content: str,
        filename: str,
        image_paths: str = "",
        render_markdown: bool = False,
        output_dir: str | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> Path:
        path = folder / file_name(filename, "document", self.suffix)
        check_length("content", content)
        self.write(path, clean(content), DocumentPictures(image_paths, files or {}), render_markdown)
        return path

    @abstractmethod
    def write(self, path: Path, content: str, album: DocumentPictures, as_markdown: bool) -> None:
        """Write the document."""


HTML_TAG = re.compile(r"<html[\s>]", re.IGNORECASE)
PAGE = """<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""


class HtmlFileGenerator(FileGenerator):
    """Writes an HTML page: from the first block fenced as html, else from the first fenced block, else from the whole
    text.
    """

    meta = base.tool(
        "HtmlFileGenerator",
        "Makes an HTML file. What is not a whole page is put into one.",
        (base.text("html_code", "The page or its body, plain or in a Markdown code block."), FILENAME, OUTPUT_DIR),
        Parameter("file", filetype="text/html"),
    )
    packages = ("markdown_it",)
    version = 2  # fences are found as CommonMark has them
    library = "Python"

    def apply(self, folder: Path, /, html_code: str, filename: str, output_dir: str | None = None) -> Path:
        path = folder / file_name(filename, "page", ".html")
        code = unwrapped(html_code).strip()
        if not HTML_TAG.search(code):
            code = PAGE.format(title=html.escape(path.stem), body=code)
        return write_text(path, code, "html_code")


def unwrapped(text: str) -> str:
    """The first block fenced as html, else the first fenced one, else the text, as where a page only quotes them."""
    if text.lstrip().lower().startswith(("<!doctype", "<html")):
        return text
    parts = fenced(text)
    return next((body for mark, body in parts if mark == "html"), parts[0][1] if parts else text)
