"""Converts media values: uploads to the inputs of tools, and the results of tools to JSON."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import FILE_TYPES, Parameter, Tool
from tool_impls.bounds import FRAMES, check_pixels, check_result, read_picture
from tool_impls.endpoints import png
from tool_impls.naming import named_files
from tool_impls.server.protocol import SCALARS


def open_inputs(
    tool: Tool, values: Mapping[str, Any], files: Mapping[str, Path], root: Path | None = None
) -> dict[str, Any]:
    """The inputs for a tool: pictures as viewers display them, named files as paths, other values unchanged.

    ``values``: typed, uploads as paths. ``files``: the files that came with the call, by the path that a text names;
    other files are searched below ``root``, if there is one. Raises ToolError for a file that is missing or no picture.
    """
    opened = dict(values)
    named: dict[str, Path] = {}
    several = False
    for parameter in tool.inputs:
        name = parameter.name or ""
        value = values.get(name)
        if parameter.type == "image" and value is not None:
            opened[name] = read_picture(Path(value), name)
        elif parameter.type in FILE_TYPES and value is not None:
            opened[name] = Path(value)
        elif parameter.attach == "file" and value is not None:
            found = files.get(value) or _below(root, value)
            if found is None:
                raise ToolError(f"{name}: there is no file {value!r} among the files of this call")
            opened[name] = found
        elif parameter.attach:
            several = True
            for path in named_files(parameter, value or ""):
                if found := files.get(path) or _below(root, path):
                    named[path] = found
    return {**opened, "files": named} if several else opened


def left_out(tool: Tool, opened: Mapping[str, Any]) -> str:
    """A sentence about each input that is only the first of the pictures in its file."""
    pictures = [parameter.name or "" for parameter in tool.inputs if parameter.type == "image"]
    counts = {name: opened[name].info.get(FRAMES, 1) for name in pictures if opened.get(name) is not None}
    return " ".join(
        f"{name} has {count} pages or frames, of which this tool takes the first only."
        for name, count in counts.items()
        if count > 1
    )


def _below(root: Path | None, path: str) -> Path | None:
    """A file below the folder that the server offers to clients which send no files; None where it is not there."""
    if root is None or "\0" in path:
        return None
    found = (root / path).resolve()
    return found if found.is_relative_to(root.resolve()) and found.is_file() else None


def encode_results(tool: Tool, result: Any) -> Any:
    """The JSON answer: one output bare, several as a list. Files become base64, pictures as PNG."""
    if len(tool.outputs) == 1:
        return _encode(tool.outputs[0], result)
    return [_encode(output, value) for output, value in zip(tool.outputs, result, strict=True)]


def is_file(tool: Tool) -> bool:
    """Whether a tool's result is one file and nothing else."""
    return len(tool.outputs) == 1 and tool.outputs[0].type in FILE_TYPES


def file_names(tool: Tool, result: Any) -> list[str | None]:
    """The base name of each output that is a file with a name."""
    results = [result] if len(tool.outputs) == 1 else result
    pairs = zip(tool.outputs, results, strict=True)
    return [value.name if isinstance(value, Path) and output.type in FILE_TYPES else None for output, value in pairs]


def _encode(output: Parameter, value: Any) -> Any:
    if output.type in SCALARS:
        return value
    if output.type not in FILE_TYPES:
        return str(value)
    return base64.b64encode(content(output, value)).decode()


def content(output: Parameter, value: Any) -> bytes:
    """The bytes of a file result; pictures as PNG. Raises ToolError for a result that is too large."""
    if output.type == "image":
        if isinstance(value, Path):
            return png(read_picture(value, "the picture that was made"))
        check_pixels("the picture that was made", *value.size)
        return png(value)
    check_result(value.stat().st_size)
    return bytes(value.read_bytes())
