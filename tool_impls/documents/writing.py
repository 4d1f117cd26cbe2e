"""What the tools that write documents share (GTA tools spec 5.1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.documents.pictures import Album
from tool_impls.documents.words import check_length, clean
from tool_impls.naming import file_name
from tool_impls.options import Option

FILENAME = base.text("filename", "Name of the file to make, without folders.")
OUTPUT_DIR = base.optional("text", "output_dir", None, "Has no effect: files lie in the task's output folder.")
TABLES = Option("tables", "bool", True, "with render_markdown, make tables of Markdown tables", released=False)

CONTENT = Parameter(
    "text",
    "content",
    "The text. {{image_1}} stands for the first picture of image_paths, and so on.",
    attach="markdown",
)
IMAGE_PATHS = Parameter(
    "text", "image_paths", "Paths of pictures, with commas between them.", optional=True, default="", attach="files"
)
RENDER = base.optional(
    "bool",
    "render_markdown",
    False,
    "Whether content is Markdown: headings, lists, code, pictures, bold, italic and links. Else it is plain text with"
    " empty lines between paragraphs.",
)
INPUTS = (CONTENT, FILENAME, IMAGE_PATHS, RENDER, OUTPUT_DIR)


class WritingTool(base.BenchTool):
    """Makes a document from plain text or Markdown, with pictures. ``INPUTS`` are its inputs."""

    category = "operation"
    confined = True
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
        self.write(path, clean(content), Album(image_paths, files or {}), render_markdown)
        return path

    @abstractmethod
    def write(self, path: Path, content: str, album: Album, as_markdown: bool) -> None:
        """Write the document."""
