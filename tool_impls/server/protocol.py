"""The AgentLego protocol without any network: the form of a call and of its answer on the wire.

Checked against AgentLego 0.2.0 with FastAPI 0.111 (GTA spec 6; golden data in tests/golden/agentlego). Pure functions.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from agentgauge.core.tools import FILE_TYPES, Parameter, Tool

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
SCALARS = {"int": "integer", "float": "number", "bool": "boolean"}
Upload = bytes | Path
"""A file part of a form: its content, or where the server has put it."""

FILE_PART = "@file"
"""Name of the form parts with files that texts of the call name. Ours, not the original protocol's: each part's file
name is the path as the text has it, percent-encoded."""

MOST_FILES = 400  # files that one call may carry beside its inputs
RAW = "application/octet-stream"
"""Content type of an answer that is one file, for clients that accept it: base64 costs 10 ms a megabyte."""

NAMES_HEADER = "X-AgentGauge-Names"
"""Header of an answer with the base names of its files: a JSON list, one entry an output, null for other outputs."""

NOTE_HEADER = "X-AgentGauge-Note"
"""Header of an answer with a sentence for the model, percent-encoded."""

TRUE, FALSE = {"true", "t", "1", "yes", "y", "on"}, {"false", "f", "0", "no", "n", "off"}


class ProtocolError(ValueError):
    """A document or an answer that is not of this protocol."""


def path_name(tool: Tool) -> str:
    """The tool's name in addresses."""
    return tool.name.replace(" ", "_")


def takes_files(tool: Tool) -> bool:
    return any(parameter.type in FILE_TYPES for parameter in tool.inputs)


def encode_call(
    tool: Tool, values: Mapping[str, str | bytes], boundary: str, files: Mapping[str, bytes] | None = None
) -> tuple[str | None, bytes]:
    """Content type and body of a call. Texts are form fields, bytes are file parts, whose file is named as the input.

    ``files``: content of the files that texts name, by their paths there. Written by hand: the original client gives
    parts no content type, and aiohttp's FormData gives each one.
    """
    if not values:
        return None, b""
    if not takes_files(tool) and not files:
        return URLENCODED, urlencode(values).encode()
    chunks: list[bytes] = []
    for name, value in values.items():
        quoted = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        chunks += _part(boundary, quoted, value, quoted if isinstance(value, bytes) else None)
    for path, content in (files or {}).items():
        chunks += _part(boundary, FILE_PART, content, quote(path, safe=""))
    return f"{MULTIPART}; boundary={boundary}", b"".join([*chunks, f"--{boundary}--\r\n".encode()])


def _part(boundary: str, name: str, value: str | bytes, file_name: str | None) -> list[bytes]:
    as_file = f'; filename="{file_name}"' if file_name is not None else ""
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{as_file}\r\n\r\n'
    return [head.encode(), value if isinstance(value, bytes) else value.encode(), b"\r\n"]


class BadForm(Exception):
    """Fields that do not fit the tool. ``details`` is the body's ``detail`` of the 422 answer."""

    def __init__(self, details: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(details)} fields are wrong")
        self.details = details


def decode_fields(tool: Tool, fields: Mapping[str, str | Upload]) -> dict[str, Any]:
    """Typed values from form fields, uploads as they are. Raises BadForm with one entry per wrong field.

    Empty and left out optional inputs get defaults; unknown fields are ignored.
    """
    values: dict[str, Any] = {}
    details = []
    for parameter in tool.inputs:
        name = parameter.name or ""
        field = fields.get(name, "")
        try:
            values[name] = _decode(parameter, field)
        except _Unfit as unfit:
            kind, message = unfit.args
            given = field if isinstance(field, str) and field else None
            details.append({"type": kind, "loc": ["body", name], "msg": message, "input": given})
    if details:
        raise BadForm(details)
    return values


class _Unfit(Exception):
    """Kind and message of a wrong field."""


def _decode(parameter: Parameter, field: str | Upload) -> Any:
    if field == "":
        if parameter.optional:
            return parameter.default
        raise _Unfit("missing", "Field required")
    if parameter.type in FILE_TYPES:
        if isinstance(field, str):
            raise _Unfit("value_error", "Value error, a file was expected: a form part with a file name")
        return field
    if not isinstance(field, str):
        raise _Unfit("string_type", "Input should be a valid string")
    text = field.strip()
    try:
        if parameter.type == "int":
            return int(text)
        if parameter.type == "float":
            return float(text)
    except ValueError:
        noun = "integer" if parameter.type == "int" else "number"
        message = f"Input should be a valid {noun}, unable to parse string as a {noun}"
        raise _Unfit(f"{parameter.type}_parsing", message) from None
    if parameter.type == "bool":
        if text.lower() not in TRUE | FALSE:
            raise _Unfit("bool_parsing", "Input should be a valid boolean, unable to interpret input")
        return text.lower() in TRUE
    return field


def split_results(tool: Tool, body: Any) -> list[Any]:
    """One value per output from a decoded answer. Raises ProtocolError."""
    if len(tool.outputs) == 1:
        return [body]
    if not isinstance(body, list) or len(body) != len(tool.outputs):
        raise ProtocolError(f"it answered {str(body)[:80]!r} where a list of {len(tool.outputs)} values was expected")
    return body


def decode_file(value: Any) -> bytes:
    """The bytes of a file result. Raises ProtocolError."""
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass  # refused below, as any other value
    raise ProtocolError(f"it answered {str(value)[:80]!r} where a file in base64 was expected")
