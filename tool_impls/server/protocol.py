"""The AgentLego protocol without any network: the form of a call and of its answer, and the document of a server.

Checked against AgentLego 0.2.0 with FastAPI 0.111 (docs/benchmarks/tools.md#tool-server; golden data in
tests/golden/agentlego). Pure functions.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urljoin

from agentgauge.core.tools import FILE_TYPES, Attach, Parameter, Tool

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
        except _WrongField as unfit:
            kind, message = unfit.args
            given = field if isinstance(field, str) and field else None
            details.append({"type": kind, "loc": ["body", name], "msg": message, "input": given})
    if details:
        raise BadForm(details)
    return values


class _WrongField(Exception):
    """Kind and message of a wrong field."""


def _decode(parameter: Parameter, field: str | Upload) -> Any:
    if field == "":
        if parameter.optional:
            return parameter.default
        raise _WrongField("missing", "Field required")
    if parameter.type in FILE_TYPES:
        if isinstance(field, str):
            raise _WrongField("value_error", "Value error, a file was expected: a form part with a file name")
        return field
    if not isinstance(field, str):
        raise _WrongField("string_type", "Input should be a valid string")
    text = field.strip()
    try:
        if parameter.type == "int":
            return int(text)
        if parameter.type == "float":
            return float(text)
    except ValueError:
        noun = "integer" if parameter.type == "int" else "number"
        message = f"Input should be a valid {noun}, unable to parse string as a {noun}"
        raise _WrongField(f"{parameter.type}_parsing", message) from None
    if parameter.type == "bool":
        if text.lower() not in TRUE | FALSE:
            raise _WrongField("bool_parsing", "Input should be a valid boolean, unable to interpret input")
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


# -- the document of a server, from tools and back (docs/benchmarks/tools.md#document). Written by hand, because
# upstream clients distinguish types by the ``format`` texts, and web frameworks set other ones


ATTACH_KEY = "x-agentgauge-attach"  # ours: tells our client how a text names files. Other clients pass over it
MIME_OUT = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


def write_document(tools: Sequence[Tool], title: str = "AgentLego") -> dict[str, Any]:
    """The OpenAPI 3.1 document of a server with these tools."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "0.1.0"},
        "paths": {f"/{path_name(tool)}": {"post": _operation(tool)} for tool in tools},
    }
    if any(tool.inputs for tool in tools):
        bodies = {f"Body_{path_name(tool)}": _body(tool) for tool in tools if tool.inputs}
        document["components"] = {"schemas": {**dict(sorted(bodies.items())), **_ERROR_SCHEMAS}}
    return document


_TEXT_OR_NUMBER = [{"type": "string"}, {"type": "integer"}]
_DETAILS = {"items": {"$ref": "#/components/schemas/ValidationError"}, "type": "array", "title": "Detail"}
_ERROR_SCHEMAS: dict[str, Any] = {
    "HTTPValidationError": {"properties": {"detail": _DETAILS}, "type": "object", "title": "HTTPValidationError"},
    "ValidationError": {
        "properties": {
            "loc": {"items": {"anyOf": _TEXT_OR_NUMBER}, "type": "array", "title": "Location"},
            "msg": {"type": "string", "title": "Message"},
            "type": {"type": "string", "title": "Error Type"},
        },
        "type": "object",
        "required": ["loc", "msg", "type"],
        "title": "ValidationError",
    },
}


def _operation(tool: Tool) -> dict[str, Any]:
    name = path_name(tool)
    operation: dict[str, Any] = {"summary": tool.description, "operationId": name}
    answers = {"200": _answer("Successful Response", {**_result_schema(tool), "title": f"Response {_title(name)}"})}
    if tool.inputs:
        media = MULTIPART if takes_files(tool) else URLENCODED
        schema = {"$ref": f"#/components/schemas/Body_{name}"}
        operation["requestBody"] = {"content": {media: {"schema": schema}}, "required": True}
        answers["422"] = _answer("Validation Error", {"$ref": "#/components/schemas/HTTPValidationError"})
    return {**operation, "responses": answers}


def _answer(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _title(name: str) -> str:
    return name.title().replace("_", " ")


def _body(tool: Tool) -> dict[str, Any]:
    schema: dict[str, Any] = {"properties": {p.name: _input_schema(p) for p in tool.inputs}, "type": "object"}
    if required := [p.name for p in tool.inputs if not p.optional]:
        schema["required"] = required
    return {**schema, "title": f"Body_{path_name(tool)}"}


def _input_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": SCALARS.get(parameter.type, "string")}
    if parameter.type == "file":
        schema["format"] = f"{parameter.filetype or 'file'};binary"
    elif parameter.type in FILE_TYPES:
        schema["format"] = f"{parameter.type};binary"
    schema["title"] = _title(parameter.name or "")
    if parameter.description:
        schema["description"] = parameter.description
    if parameter.default is not None:
        schema["default"] = parameter.default
    if parameter.attach:
        schema[ATTACH_KEY] = parameter.attach
    return schema


def _result_schema(tool: Tool) -> dict[str, Any]:
    results = [_output_schema(output) for output in tool.outputs]
    if len(results) == 1:
        return results[0]
    return {"prefixItems": results, "type": "array", "maxItems": len(results), "minItems": len(results)}


def _output_schema(output: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": SCALARS.get(output.type, "string")}
    if output.type in FILE_TYPES:
        schema["format"] = f"{MIME_OUT.get(output.type) or output.filetype or 'file'};base64"
    if output.description:
        schema["description"] = output.description
    return schema


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool as a server's document announces it."""

    tool: Tool
    url: str
    toolkit: str  # title of the document


def read_document(document: Any, address: str) -> dict[str, RemoteTool]:
    """The tools of a server by name. ``address``: the server's address, for documents that name none. Raises
    ProtocolError.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("paths"), Mapping):
        raise ProtocolError("it is not an OpenAPI document with paths")
    try:
        servers = document.get("servers") or [{}]
        base = urljoin(address, servers[0].get("url") or "/").rstrip("/")
        toolkit = str(document.get("info", {}).get("title", ""))
        found = {}
        for path, operations in document["paths"].items():
            if "post" in operations:  # tools are never anything else
                tool = _read_tool(document, path, operations["post"])
                found[tool.name] = RemoteTool(tool, base + path, toolkit)
        return found
    except ProtocolError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProtocolError(f"its document has a part that cannot be read ({error!r})") from None


def _read_tool(document: Mapping[str, Any], path: str, operation: Mapping[str, Any]) -> Tool:
    name = operation.get("operationId") or path.strip("/")
    for sign in "-./":
        name = name.replace(sign, "_")
    inputs = []
    if "requestBody" in operation:
        media, *_ = operation["requestBody"]["content"].values()
        body = _follow(document, media["schema"])
        required = body.get("required", [])
        for key, value in body.get("properties", {}).items():
            schema = _follow(document, value)
            inputs.append(_read_parameter(name, schema, key, key not in required))
    content = operation["responses"]["200"].get("content", {})
    result = _follow(document, content.get("application/json", {}).get("schema", {}))
    parts = result["prefixItems"] if result.get("type") == "array" else [result]
    outputs = [_read_parameter(name, _follow(document, part), None, False) for part in parts]
    return Tool(name, operation.get("description") or operation.get("summary") or "", tuple(inputs), tuple(outputs))


def _follow(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve references inside the document and lists of one alternative."""
    for _ in range(16):  # a bound, for documents that refer in circles
        if "$ref" in schema:
            target: Any = document
            for key in schema["$ref"].removeprefix("#/").split("/"):
                target = target[key]
            schema = {**{key: value for key, value in schema.items() if key != "$ref"}, **target}
        elif len(schema.get("allOf", ())) == 1:
            schema = {**{key: value for key, value in schema.items() if key != "allOf"}, **schema["allOf"][0]}
        else:
            return schema
    raise ProtocolError("its document refers to itself")


def _read_parameter(tool: str, schema: Mapping[str, Any], name: str | None, optional: bool) -> Parameter:
    kind, form = schema.get("type", "string"), schema.get("format") or ""
    filetype = None
    type_: Any = next((own for own, other in SCALARS.items() if other == kind), "text")
    if type_ == "text" and kind != "string":
        handled = "only text, numbers, booleans and files can be handled"
        raise ProtocolError(f"the value {name or 'result'} of {tool} is an {kind}; {handled}")
    if kind == "string":
        type_ = next((media for media in MIME_OUT if media in form), "text")
        if type_ == "text" and ("binary" in form or "base64" in form):
            type_, filetype = "file", form.partition(";")[0]
    attach, known = schema.get(ATTACH_KEY), get_args(Attach)
    if attach not in (None, *known):
        raise ProtocolError(f"the value {name} of {tool} has {ATTACH_KEY} {attach!r}; known are {', '.join(known)}")
    return Parameter(type_, name, schema.get("description"), optional, schema.get("default"), filetype, attach)
