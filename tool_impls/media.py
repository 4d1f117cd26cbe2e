"""Media values of the server: uploads to what tools take, and what tools return to JSON."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ToolError
from harness.tools import FILE_TYPES, Parameter, Tool
from tool_impls.protocol import SCALARS

if TYPE_CHECKING:
    from PIL.Image import Image


def open_inputs(tool: Tool, values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Pictures as loaded PIL images, other uploads as files in ``folder``, the rest as it is. Raises ToolError for no picture."""
    opened = dict(values)
    for parameter in tool.inputs:
        name = parameter.name or ""
        data = values.get(name)
        if parameter.type in FILE_TYPES and isinstance(data, bytes):
            opened[name] = _picture(name, data) if parameter.type == "image" else _stored(folder / name, data)
    return opened


def encode_results(tool: Tool, result: Any) -> Any:
    """The JSON answer: one output bare, several as a list. Pictures become base64 PNG in RGB, other files base64 of their bytes."""
    if len(tool.outputs) == 1:
        return _encode(tool.outputs[0], result)
    return [_encode(output, value) for output, value in zip(tool.outputs, result, strict=True)]


def _picture(name: str, data: bytes) -> Image:
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(data))
        image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise ToolError(f"{name} is not a picture that can be read") from None
    return image


def _stored(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _encode(output: Parameter, value: Any) -> Any:
    if output.type in SCALARS:
        return value
    if output.type not in FILE_TYPES:
        return str(value)
    return base64.b64encode(_bytes(output, value)).decode()


def _bytes(output: Parameter, value: Any) -> bytes:
    if output.type == "image":
        from PIL import Image

        from tool_impls.endpoints import png

        if isinstance(value, Path):
            with Image.open(value) as image:
                return png(image)
        return png(value)
    return bytes(value.read_bytes())
