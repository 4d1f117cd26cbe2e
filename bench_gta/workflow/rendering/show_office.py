"""Office files, HTML pages and drawings made into PDF and PNG by LibreOffice (GTA-Workflow spec 3.2, "Ours"). Runs in
the sandbox only.

The ``soffice`` program talks to itself through sockets, which the sandbox does not have. So the library that it
consists of is loaded here and called by its C interface (LibreOfficeKit), which needs none; it runs no macros unless a
caller enables them.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from bench_gta.workflow.rendering.kinds import DOCUMENTS, SHEETS, SLIDES
from bench_gta.workflow.rendering.programs import LIBRARIES
from bench_gta.workflow.rendering.show_pages import MOST_PAGES, bounded, content, fenced, finished, made_pdf
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
SHORT = 80  # rows of a workbook whose sheets are shown as one page each

# Places in the tables of functions of LibreOfficeKit.h, to which new ones are only ever appended.
_GET_ERROR, _LOAD, _VERSION = 3, 4, 10
_SAVE_AS = 2


def office(order: Mapping[str, Json]) -> Json:
    """An office file as a PDF made by LibreOffice, the values of a workbook as ``text`` too. Raises ToolError."""
    path = Path(order["source"])
    _check(path)
    options: dict[str, Json] = {"PageRange": {"type": "string", "value": f"1-{MOST_PAGES + 1}"}}
    text = ""
    if path.suffix in SHEETS:
        text = _text(path, MOST_VALUES)
        if text.count("\n") < SHORT:
            options = {"SinglePageSheets": {"type": "boolean", "value": "true"}}  # else columns are spread over pages
    version = _convert(order, "office.pdf", "pdf", json.dumps(options))
    values = ", its values also as text" if text else ""
    note = f"{path.suffix[1:].upper()} file, shown as a PDF made by {version}{values}"
    answer = finished(path.with_name("office.pdf"), note, text or None, whole="PageRange" not in options)
    return {**answer, "text": text}


def page(order: Mapping[str, Json]) -> Json:
    """An HTML page as a PDF made by LibreOffice, which knows little of modern layouts. Raises ToolError."""
    text, _ = content(Path(order["source"]))
    version = _convert(order, "page.pdf", "pdf", "")
    lacking = "which shows less of the layout than a browser and runs no scripts"
    note = f"HTML page, shown as a PDF made by {version}, {lacking}"
    return finished(Path(order["folder"]) / "page.pdf", note, text)


def drawing(order: Mapping[str, Json]) -> Json:
    """An SVG drawing as PNG. Raises ToolError."""
    text, _ = content(Path(order["source"]))
    if not re.search(r"<(\w+:)?svg[\s>]", text):
        raise ToolError("the file is no SVG drawing")
    if "<!ENTITY" in text:
        raise ToolError("the drawing declares entities, which are not read")
    version = _convert(order, "drawing.png", "png", "")
    return {"files": ["drawing.png"], "note": f"SVG drawing, shown as PNG made by {version}"}


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


def _convert(order: Mapping[str, Json], name: str, kind: str, options: str) -> str:
    """Write ``source`` as ``name`` into the folder and return the program's name and version. Raises ToolError."""
    program, folder = Path(order["program"]), Path(order["folder"])
    os.environ["SAL_USE_VCLPLUGIN"] = "svp"  # no display
    library = next(program / name for name in LIBRARIES if (program / name).is_file())
    hook = ctypes.CDLL(str(library)).libreofficekit_hook_2
    hook.restype, hook.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
    kit = hook(str(program).encode(), (folder / "profile").as_uri().encode())
    if not kit:
        raise ToolError("LibreOffice did not start")
    text = ctypes.c_char_p
    version = json.loads(_method(kit, _VERSION, text)(kit) or b"{}")
    document = _method(kit, _LOAD, ctypes.c_void_p, text, text)(kit, Path(order["source"]).as_uri().encode(), b"")
    if not document:
        raise ToolError(f"LibreOffice cannot open it ({_reason(kit)})")
    target = (folder / name).as_uri().encode()
    save_as = _method(document, _SAVE_AS, ctypes.c_int, text, text, text)
    if not save_as(document, target, kind.encode(), options.encode()):
        raise ToolError(f"LibreOffice cannot convert it ({_reason(kit)})")
    return f"LibreOffice {version.get('ProductVersion', '')}{version.get('ProductExtension', '')}".strip()


def _reason(kit: int) -> str:
    error = _method(kit, _GET_ERROR, ctypes.c_char_p)(kit) or b""
    return error.decode("utf-8", "replace").strip()[:200] or "no reason given"


def _method(thing: int, place: int, result: Any, *arguments: Any) -> Any:
    """A function of an object that begins with a pointer to its table of functions, whose first entry is its size."""
    pointers = ctypes.POINTER(ctypes.c_void_p)
    table = ctypes.cast(ctypes.cast(thing, pointers)[0] or 0, pointers)
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)(table[place] or 0)
