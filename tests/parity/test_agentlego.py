"""The traffic of the original AgentLego client and server: our server gives the same answers, our client the same
requests.

Every exchange of the golden data is used in both directions where it has one.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import http.client
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from agentgauge.agent.dialect import convert
from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Tool
from tests.every import every
from tests.parity.canned_tools import body_of, canned_tools, picture
from tests.parity.golden import cases, golden_folder, listed, load, needs, parameters, vector
from tests.tools.servers import canned_server, in_front, threaded, web_server
from tests.tools.servers import http as answer
from tool_impls.server.client import ToolServerBox
from tool_impls.server.protocol import read_document, write_document
from tool_impls.settings import ToolSettings

pytestmark = needs("agentlego", "openapi.json", "remote_tools.json", "exchanges.json", "input_files.json")

FOLDER = golden_folder("agentlego")
DOCUMENT: Any = load("agentlego", "openapi.json")
REMOTE = listed("agentlego", "remote_tools.json", "tools")
TRAFFIC: Any = load("agentlego", "exchanges.json")
EXCHANGES = listed("agentlego", "exchanges.json", "exchanges")
INPUTS = {name: base64.b64decode(data) for name, data in (load("agentlego", "input_files.json") or {}).items()}
TOOLS: dict[str, Tool] = {entry["name"]: Tool.from_json(entry["toolmeta"]) for entry in REMOTE}


def _exchanges(*kinds: str, field: str = "kind") -> list[Any]:
    """The exchanges of some kinds, or those that have a field, as test parameters."""
    fitting = [exchange for exchange in EXCHANGES if (exchange["kind"] in kinds if kinds else field in exchange)]
    names = ((exchange["kind"], exchange.get("tool", ""), exchange.get("note", "")) for exchange in fitting)
    return parameters(
        "agentlego", "exchanges.json", [("-".join(name), one) for name, one in zip(names, fitting, strict=True)]
    )


# --- the document --------------------------------------------------------------------------------------------------


@vector("agentlego", "openapi.json")
def test_document_is_the_original_one() -> None:
    assert write_document(list(TOOLS.values()), title=DOCUMENT["info"]["title"]) == DOCUMENT


@every("entry", cases("agentlego", "remote_tools.json", "tools"))
def test_document_is_read_as_by_the_original_client(entry: Any) -> None:
    remote = read_document(DOCUMENT, TRAFFIC["base_url"])[entry["name"]]
    assert (remote.tool.to_json(), remote.url, remote.toolkit) == (entry["toolmeta"], entry["url"], entry["toolkit"])
    assert entry["method"] == "POST"


def test_document_holds_no_other_tools() -> None:
    assert list(read_document(DOCUMENT, TRAFFIC["base_url"])) == [entry["name"] for entry in REMOTE]


# --- our server, their requests ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["alone", "in front"])
def served(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server with the canned tools of the golden data, and one in front of two such servers."""
    assert FOLDER is not None, "the module is skipped without golden data"
    tools = [kind(ToolSettings()) for kind in canned_tools(FOLDER).values()]
    with web_server(lambda: threaded(tools).application()) as url:
        if request.param == "alone":
            yield url
            return
        with web_server(lambda: threaded(tools).application()) as other, in_front(url, other) as both:
            yield both


def _body(message: Mapping[str, Any]) -> bytes:
    assert FOLDER is not None, "the module is skipped without golden data"
    return body_of(message, FOLDER)


@every("exchange", _exchanges(field="request"))
def test_server_answers_as_the_original(served: str, exchange: Any) -> None:
    request, expected = exchange["request"], exchange["response"]
    connection = http.client.HTTPConnection(urlsplit(served).netloc, timeout=10)
    try:
        connection.request(request["method"], request["path"], _body(request) or None, request["headers"])
        reply = connection.getresponse()
        data = reply.read()
    finally:
        connection.close()
    assert (reply.status, reply.reason) == (expected["status"], expected["reason"])
    for header in ("content-type", "location", "allow"):
        assert reply.headers.get(header) == expected["headers"].get(header)
    if not _body(expected):
        assert data == b""
    elif expected["status"] == 422:
        locations = [[detail["loc"] for detail in json.loads(body)["detail"]] for body in (data, _body(expected))]
        assert locations[0] == locations[1]
    else:
        assert _pixels(json.loads(data)) == _pixels(json.loads(_body(expected)))


def _pixels(value: Any) -> Any:
    """The value with every picture in it replaced by its mode, size and pixels."""
    if isinstance(value, list):
        return [_pixels(part) for part in value]
    if isinstance(value, str) and value.startswith("iVBORw0KGgo"):
        image = picture(value)
        return (image.mode, image.size, image.tobytes())
    return value


# --- our client, their answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("exchange", _exchanges("discover", "from_url"))
def test_client_discovers_as_the_original(exchange: Any) -> None:
    with canned_server({"/openapi.json": [_raw(exchange["response"])]}) as server:

        async def discover() -> Any:
            box = ToolServerBox(server.url)
            try:
                return await box.catalog(), await box.catalog()
            finally:
                await box.close()

        catalog, again = asyncio.run(discover())
    assert catalog == TOOLS == again
    assert [(request.method, request.path, request.body) for request in server.requests] == [
        (exchange["request"]["method"], exchange["request"]["path"], b"")
    ]


def _raw(response: Mapping[str, Any]) -> bytes:
    return answer(
        response["status"],
        _body(response),
        response["reason"],
        kind=response["headers"].get("content-type", "text/plain"),
    )


@pytest.mark.parametrize("exchange", _exchanges("remote_tool_call"))
@vector("agentlego", "input_files.json")
def test_client_calls_as_the_original(exchange: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, out = tmp_path / "files", tmp_path / "out"
    files.mkdir()
    for name, data in INPUTS.items():
        (files / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    answers = [_raw(exchange["response"])] if "response" in exchange else [answer(500)]
    tool = TOOLS[exchange["tool"]]
    with canned_server({"/openapi.json": [answer(200, DOCUMENT)], f"/{tool.name}": answers}) as server:
        outcome = asyncio.run(_call(server.url, tool, exchange["arguments"], out, files))
    sent = [request for request in server.requests if request.path != "/openapi.json"]
    if "request" in exchange:
        (request,) = sent
        expected = exchange["request"]
        assert (request.method, request.path) == (expected["method"], expected["path"])
        assert _fields(request.headers.get("content-type"), request.body) == _fields(
            expected["headers"].get("content-type"), _body(expected)
        )
    else:
        assert sent == []
    _compare(outcome, exchange["client_result"], exchange.get("response"), out)


async def _call(url: str, tool: Tool, arguments: Mapping[str, Any], out: Path, files: Path) -> Any:
    """What the agent does: convert, then call. Names that the tool has not are the client's to refuse."""
    known = {parameter.name for parameter in tool.inputs}
    box = ToolServerBox(url)
    try:
        converted = convert(tool, {name: value for name, value in arguments.items() if name in known})
        converted |= {name: value for name, value in arguments.items() if name not in known}
        return await box.call(tool.name, converted, folder=out, readable=[files])
    except (ToolError, TypeError, ValueError, OSError) as error:
        return error
    finally:
        await box.close()


def _fields(content_type: str | None, body: bytes) -> Any:
    """A form as its kind and (name, file name, part content type, value) of each field, in order."""
    if content_type is None:
        assert body == b""
        return None
    if content_type == "application/x-www-form-urlencoded":
        return ("urlencoded", parse_qsl(body.decode(), keep_blank_values=True))
    boundary = content_type.partition("boundary=")[2].encode()
    head, *parts, tail = body.split(b"--" + boundary)
    assert (head, tail) == (b"", b"--\r\n")
    split = [part.removeprefix(b"\r\n").removesuffix(b"\r\n").split(b"\r\n\r\n", 1) for part in parts]
    return ("multipart", [(sorted(headers.decode().split("\r\n")), value) for headers, value in split])


def _compare(outcome: Any, expected: Mapping[str, Any], response: Mapping[str, Any] | None, out: Path) -> None:
    if expected["state"] != "SUCCESS":
        assert isinstance(outcome, Exception)
        if "CALL_FAILED" in expected["errmsg"]:  # the rest of the text has free wording
            original = ast.literal_eval(expected["errmsg"].removeprefix("RuntimeError(").removesuffix(")"))
            assert isinstance(outcome, ToolError)
            assert str(outcome).endswith(re.sub(r"^\{CALL_FAILED \w+\} ", "", original))
        return
    assert not isinstance(outcome, Exception), outcome
    assert response is not None
    bodies = json.loads(_body(response))
    bodies = bodies if len(expected["result"]) > 1 else [bodies]
    for output, wanted, body in zip(outcome, expected["result"], bodies, strict=True):
        assert output.type == wanted["type"]
        if wanted["type"] == "text":
            assert output.content == wanted["content"]
            continue
        assert wanted["content"].startswith("{OUT}/")
        path = Path(output.content)
        assert str(path.relative_to(out)) == wanted["content"].removeprefix("{OUT}/").replace("{STAMP}", "0001")
        assert path.read_bytes() == base64.b64decode(body)
