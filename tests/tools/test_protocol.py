"""The wire form of calls and the specification document: round trips and refusals."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.core.tools import FILE_TYPES, Parameter, Tool
from tests.costly import COSTLY
from tool_impls.registry import TOOLS
from tool_impls.server.client import encode_call
from tool_impls.server.protocol import (
    BadForm,
    ProtocolError,
    decode_fields,
    decode_file,
    read_document,
    split_results,
    takes_files,
    write_document,
)

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
DEFAULTS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(min_size=1),
    "int": st.integers(),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
}


@st.composite
def inputs(draw: st.DrawFn) -> Parameter:
    kind = draw(st.sampled_from(["text", "int", "float", "bool", "image", "audio", "video", "file"]))
    optional = draw(st.booleans())
    default = draw(st.none() | DEFAULTS[kind]) if optional and kind in DEFAULTS else None
    filetype = draw(st.sampled_from(["text/plain", "application/pdf", "file"])) if kind == "file" else None
    return Parameter(kind, draw(NAMES), draw(st.none() | st.text(min_size=1)), optional, default, filetype)


OUTPUTS = st.sampled_from(["text", "int", "float", "bool", "image", "audio", "video"]).map(lambda kind: Parameter(kind))
TOOL = st.builds(
    Tool,
    name=st.from_regex(r"[A-Z][A-Za-z0-9_]{0,12}", fullmatch=True),
    description=st.text(),
    inputs=st.lists(inputs(), unique_by=lambda p: p.name, max_size=3).map(tuple),
    outputs=st.lists(OUTPUTS, min_size=1, max_size=2).map(tuple),
)


@COSTLY
@given(st.lists(TOOL, unique_by=lambda tool: tool.name, max_size=2))
def test_document_gives_the_tools_back(tools: list[Tool]) -> None:
    remote = read_document(write_document(tools), "http://host:1")
    assert [entry.tool for entry in remote.values()] == tools
    assert [entry.url for entry in remote.values()] == [f"http://host:1/{tool.name}" for tool in tools]


@pytest.mark.parametrize("kind", TOOLS.values(), ids=lambda kind: kind.meta.name)
def test_document_gives_our_own_tools_back(kind: Any) -> None:
    assert read_document(write_document([kind.meta]), "http://h")[kind.meta.name].tool == kind.meta


TEXT = Tool("T", "", (Parameter("text", "a"), Parameter("int", "k", optional=True, default=3)), (Parameter("text"),))


@pytest.mark.parametrize(
    ("servers", "url"),
    [
        (None, "http://here:1/T"),
        ([], "http://here:1/T"),
        ([{"url": "/"}], "http://here:1/T"),
        ([{"url": "http://there:2"}], "http://there:2/T"),
        ([{"url": "https://there/api/"}, {"url": "http://x"}], "https://there/api/T"),
    ],
)
def test_address_of_a_tool_comes_from_the_first_server(servers: Any, url: str) -> None:
    document = write_document([TEXT]) | ({} if servers is None else {"servers": servers})
    assert read_document(document, "http://here:1")["T"].url == url


def test_schemas_are_followed_through_references_and_single_alternatives() -> None:
    document = write_document([TEXT])
    schemas = document["components"]["schemas"]
    schemas["Number"] = {"type": "integer"}
    schemas["Body_T"]["properties"]["k"] = {"allOf": [{"$ref": "#/components/schemas/Number"}], "default": 3}
    assert read_document(document, "http://h")["T"].tool == TEXT


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"paths": 3},
        {"paths": {"/T": {"post": {}}}},
        {"paths": {"/T": {"post": {"operationId": 3}}}},
        {"paths": {"/T": {"post": {"operationId": "T", "responses": {"200": {}}, "requestBody": {"content": {}}}}}},
    ],
)
def test_other_documents_are_refused(document: Any) -> None:
    with pytest.raises(ProtocolError):
        read_document(document, "http://h")


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "array"}, {"$ref": "#/components/schemas/Body_T"}])
def test_inputs_that_no_form_can_hold_are_refused(schema: Any) -> None:
    document = write_document([TEXT])
    document["components"]["schemas"]["Body_T"]["properties"]["a"] = schema
    with pytest.raises(ProtocolError):
        read_document(document, "http://h")


def test_document_that_refers_in_circles_is_refused() -> None:
    document = write_document([TEXT])
    document["components"]["schemas"]["Body_T"] = {"$ref": "#/components/schemas/Body_T"}
    with pytest.raises(ProtocolError, match="refers to itself"):
        read_document(document, "http://h")


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("text", " a ", " a "),
        ("text", "None", "None"),
        ("int", "12", 12),
        ("int", " -3 ", -3),
        ("float", "0.25", 0.25),
        ("float", "1e3", 1000.0),
        *[("bool", word, True) for word in ("True", "true", "T", "1", "yes", "Y", "ON")],
        *[("bool", word, False) for word in ("False", "false", "F", "0", "No", "n", "off")],
        ("image", b"PNG", b"PNG"),
        ("file", b"", b""),
    ],
)
def test_field_becomes_a_value(kind: Any, field: Any, value: Any) -> None:
    decoded = decode_fields(Tool("T", "", (Parameter(kind, "v"),)), {"v": field, "other": "ignored"})
    assert decoded == {"v": value}
    assert type(decoded["v"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "field", "error"),
    [
        ("text", None, "missing"),
        ("text", "", "missing"),
        ("image", None, "missing"),
        ("int", "ten", "int_parsing"),
        ("int", "2.5", "int_parsing"),
        ("float", "x", "float_parsing"),
        ("bool", "maybe", "bool_parsing"),
        ("image", "abc", "value_error"),
        ("text", b"abc", "string_type"),
    ],
)
def test_field_that_does_not_fit_is_located(kind: Any, field: Any, error: str) -> None:
    with pytest.raises(BadForm) as caught:
        decode_fields(Tool("T", "", (Parameter(kind, "v"),)), {} if field is None else {"v": field})
    (detail,) = caught.value.details
    assert (detail["type"], detail["loc"]) == (error, ["body", "v"])
    assert detail["input"] == (field if isinstance(field, str) and field else None)


@pytest.mark.parametrize("fields", [{}, {"v": ""}])
def test_optional_field_left_out_or_empty_gets_its_default(fields: dict[str, str]) -> None:
    assert decode_fields(Tool("T", "", (Parameter("int", "v", optional=True, default=7),)), fields) == {"v": 7}


@given(TOOL, st.data())
@settings(max_examples=40, deadline=None)
def test_what_a_client_sends_a_server_reads(tool: Tool, data: st.DataObject) -> None:
    """Any text and any bytes survive the form, whichever of its two kinds the tool takes."""
    fields: dict[str, str | bytes] = {}
    for parameter in tool.inputs:
        if data.draw(st.booleans()):
            values = st.binary() if parameter.type in FILE_TYPES else st.text(st.characters(exclude_categories=["Cs"]))
            fields[parameter.name or ""] = data.draw(values)
    content_type, read = asyncio.run(_sent_and_read(tool, fields))
    assert read == fields
    assert (content_type or "").startswith(
        ("multipart" if takes_files(tool) else "application/x-www") if fields else ""
    )


async def _sent_and_read(tool: Tool, values: dict[str, str | bytes]) -> tuple[str | None, dict[str, str | bytes]]:
    """The content type of a call's form, and its fields as our server reads them."""
    from aiohttp import MultipartWriter
    from aiohttp.base_protocol import BaseProtocol
    from aiohttp.streams import StreamReader
    from aiohttp.test_utils import make_mocked_request

    from tool_impls.server.requests import Uploads

    content_type, form = encode_call(tool, values, {})
    body = await form.as_bytes() if isinstance(form, MultipartWriter) else form.read() if form else b""
    stream = StreamReader(BaseProtocol(asyncio.get_running_loop()), 2**16, loop=asyncio.get_running_loop())
    stream.feed_data(body)
    stream.feed_eof()
    headers = {"Content-Type": content_type} if content_type else {}
    request = make_mocked_request("POST", "/T", headers=headers, payload=stream)
    with tempfile.TemporaryDirectory() as scratch:
        fields = await Uploads(Path(scratch), 2**20, 60).fields(request)
        return content_type, {
            name: value.read_bytes() if isinstance(value, Path) else value for name, value in fields.items()
        }


@pytest.mark.parametrize("value", [None, 3, ["x"], "not base64!", "abc"])
def test_result_that_is_no_file_is_refused(value: Any) -> None:
    with pytest.raises(ProtocolError, match="base64"):
        decode_file(value)


@pytest.mark.parametrize("value", ["x", ["x"], ["x", "y", "z"], {"a": 1}])
def test_several_results_must_all_be_there(value: Any) -> None:
    with pytest.raises(ProtocolError, match="list of 2"):
        split_results(Tool("T", "", (), (Parameter("text"), Parameter("text"))), value)
