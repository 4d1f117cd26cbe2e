"""Office files, HTML pages and drawings before and after LibreOffice has converted them, and office files by their text
(GTA-Workflow spec 3.2, "Ours"). Runs in the sandbox only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from bench_gta.workflow.rendering.kinds import DOCUMENTS, SHEETS, SLIDES, kind_of
from bench_gta.workflow.rendering.show_pages import bounded, content, fenced, finished, made_pdf
from tool_impls.documents.guard import check_office, check_size
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX
from tool_impls.documents.read_tables import ReadXLSX
from tool_impls.settings import ToolSettings

READERS: Mapping[str, Any] = {
    **dict.fromkeys(DOCUMENTS, ReadDOCX),
    **dict.fromkeys(SLIDES, ReadPPTX),
    **dict.fromkeys(SHEETS, ReadXLSX),
}
ARCHIVES = (*READERS, ".xlsb", ".odt", ".odp", ".ods")  # zip archives of XML
MOST_TEXT = 100_000  # characters of a document that is shown by its text only
MOST_VALUES = 20_000  # characters of a workbook's values beside its PDF


def before_office(order: Mapping[str, Json]) -> Json:
    """Check a file that LibreOffice is to open. ``text``: a page's source, a workbook's values. Raises ToolError."""
    path, text = Path(order["source"]), ""
    match kind_of(path.name):
        case "page":
            text, _ = content(path)
        case "drawing":
            _check_drawing(path)
        case _:
            _check(path)
            if path.suffix in SHEETS:
                text = _text(path, MOST_VALUES)
    return {"note": "", "text": text}


def after_office(order: Mapping[str, Json]) -> Json:
    """The PDF ``made`` of an office file or a page, with the ``text`` of ``before_office``. Raises ToolError."""
    path, made, text = Path(order["source"]), Path(order["made"]), order["text"]
    if kind_of(path.name) == "page":
        lacking = "which shows less of the layout than a browser and runs no scripts"
        return finished(made, f"HTML page, shown as a PDF made by LibreOffice, {lacking}", text)
    values = ", its values also as text" if text else ""
    note = f"{path.suffix[1:].upper()} file, shown as a PDF made by LibreOffice{values}"
    return {**finished(made, note, text or None), "text": text}


def _check_drawing(path: Path) -> None:
    """Raises ToolError for what is no plain SVG drawing."""
    text, _ = content(path)
    if not re.search(r"<(\w+:)?svg[\s>]", text):
        raise ToolError("the file is no SVG drawing")
    if "<!ENTITY" in text:
        raise ToolError("the drawing declares entities, which are not read")


def office_text(order: Mapping[str, Json]) -> Json:
    """The text of a document, a presentation or a workbook as a PDF. Raises ToolError."""
    path = Path(order["source"])
    text, cut = bounded(_text(path, MOST_TEXT))
    if not text.strip():
        raise ToolError("the document holds no text, and no program is here that shows more of it")
    sheet = path.suffix in SHEETS
    made = made_pdf(order, fenced(text) if sheet else text, markdown=sheet)
    note = (
        f"{path.suffix[1:].upper()} file, shown by its text only as a PDF{cut}; its layout and pictures are not shown"
    )
    return finished(made, note, text)


def _text(path: Path, most: int) -> str:
    """What the file says, cut to so many characters. Raises ToolError."""
    reader = READERS[path.suffix]
    settings = ToolSettings(released=False, tables={reader.meta.name: {"limit": most}})
    return str(reader(settings).apply(path.parent, **{reader.meta.inputs[0].name: path}))


def _check(path: Path) -> None:
    """Raises ToolError for what no honest office file is: bombs, lies about sizes, entities."""
    if path.suffix in ARCHIVES:
        check_office(path, f"a file of the kind {path.suffix[1:].upper()}")
    else:
        check_size(path)
