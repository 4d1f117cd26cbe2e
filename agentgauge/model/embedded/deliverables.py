"""Arguments of tools that make files: names, tables, slides and code, from the question and the results so far."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agentgauge.model.embedded.view import OfferedTool, RequestView
from agentgauge.model.embedded.words import stems, stems_of_name

_FILE_NAME = re.compile(r"\b[\w-]{1,60}\.[a-z]{3,4}\b")
_SUFFIXES = ("docx", "pdf", "xlsx", "csv", "pptx", "html")
_KINDS = {
    "docx": "docx word document letter",
    "pdf": "pdf",
    "xlsx": "xlsx excel workbook spreadsheet",
    "csv": "csv table",
    "pptx": "pptx powerpoint slides presentation",
    "html": "html web page website",
}
_ROWS = 200


def suffix_of(tool: OfferedTool) -> str | None:
    """The kind of file that the tool makes or reads, by its name."""
    name = tool.name.lower()
    return next((suffix for suffix in _SUFFIXES if suffix in name), None)


def is_maker(tool: OfferedTool) -> bool:
    return suffix_of(tool) is not None and any(one.name == "filename" for one in tool.parameters)


def is_asked(suffix: str, view: RequestView) -> bool:
    """Whether the question wants a file of the kind, apart from the files that are there."""
    text = view.query
    for path in view.files:
        text = text.replace(path.rpartition("/")[2], " ")
    return bool(stems(_KINDS[suffix]) & stems(re.sub(r"[.]", " ", text)))


def value(tool: OfferedTool, name: str, view: RequestView) -> Any:
    """The value of a parameter of a tool that makes files; None for others."""
    if not is_maker(tool):
        return None
    if name == "filename":
        return _file_name(tool, view)
    if name == "data_str":
        return json.dumps(_table(view), ensure_ascii=False)
    if name == "slides_content_str":
        slides = [{"title": f"Part {number}", "content": text[:600]} for number, text in enumerate(_parts(view), 1)]
        return json.dumps(slides, ensure_ascii=False)
    if name == "html_code":
        return "".join(f"<p>{text}</p>" for text in _parts(view))
    return "\n\n".join(_parts(view)) if name == "content" else None


def _parts(view: RequestView) -> list[str]:
    return [" ".join(view.query.split()), *(text for text in view.observations if text)]


def _file_name(tool: OfferedTool, view: RequestView) -> str:
    """The name that the question gives to a file that is not there yet, else one of our own."""
    suffix = suffix_of(tool)
    there = {path.rpartition("/")[2] for path in view.files}
    given = [name for name in _FILE_NAME.findall(view.query) if name not in there and name.endswith(f".{suffix}")]
    return given[0] if given else f"answer.{suffix}"


def _table(view: RequestView) -> list[list[Any]]:
    """The rows of the newest result that has lines with commas."""
    for observation in reversed(view.observations):
        rows = [line.split(",") for line in observation.splitlines()[:_ROWS] if "," in line]
        if len(rows) > 1:
            return [[cell.strip() for cell in row] for row in rows]
    return [["question"], [" ".join(view.query.split())]]


def program(tool: OfferedTool, expression: str, numbers: Sequence[str]) -> str:
    """The code for a tool that runs some: a chart of the numbers, or the value of an expression."""
    if (stems_of_name(tool.name) | stems(tool.description)) & stems("plot chart diagram figure draw"):
        plot = f"figure, axes = plt.subplots()\n    axes.plot([{', '.join(numbers[:50] or ['0', '1'])}])"
        return f"```python\nimport matplotlib.pyplot as plt\n\ndef solution():\n    {plot}\n    return figure\n```"
    return f"```python\ndef solution():\n    return {expression}\n```"
