"""The base classes of tools that write documents (GTA tools spec 5.1)."""

from __future__ import annotations

import re
import zipfile
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.documents.pictures import DocumentPictures
from tool_impls.documents.words import check_length, clean
from tool_impls.settings import Option

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
