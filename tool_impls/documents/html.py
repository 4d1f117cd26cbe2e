"""HtmlFileGenerator (GTA tools spec 5.1)."""

from __future__ import annotations

import html
import re
from pathlib import Path

from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.arguments import file_name
from tool_impls.documents.markdown import fenced
from tool_impls.documents.writing import FILENAME, OUTPUT_DIR, FileGenerator, write_text

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
