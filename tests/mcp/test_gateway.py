"""The gateway: what a session offers, and who reaches it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import MCPError

from tests.mcp.sessions import FLIP, PICTURE, Sample, connected, started, texts
from tool_impls.mcp import server
from tool_impls.mcp.gateway import MOST_BODY
from tool_impls.mcp.session import OpenSession, ToolSession, files_below, input_schema

MODES = ("auto", "legacy")  # the protocol of 2026 and the one with a handshake


def test_schemas_are_those_that_models_get() -> None:
    assert input_schema(FLIP) == {
        "type": "object",
        "properties": {
            "image": {"type": "string", "description": "path of an image file"},
            "times": {"type": "integer", "nullable": True},
        },
        "required": ["image"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("mode", MODES)
def test_a_picture_goes_in_by_name_and_comes_out_as_picture_and_resource(mode: str, tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session()), mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == ["Flip", "Add", "Report", "Join", "Fail", "Wait"]
            result = await client.call_tool("Flip", {"image": "image/cat.png", "times": 2})
            assert sample.calls == [("Flip", {"image": str(sample.picture), "times": 2})]
            text, picture, link = result.content
            assert texts(result) == "[image](results/image/0001.png)" and text.type == "text"
            assert (picture.type, picture.mime_type) == ("image", "image/png")
            assert base64.b64decode(picture.data) == PICTURE[::-1]
            assert (link.type, link.uri, link.size) == (
                "resource_link",
                "sample:///results/image/0001.png",
                len(PICTURE),
            )
            # the result is a file of the session from now on, by its URI and by its name
            await client.call_tool("Flip", {"image": link.uri, "times": None})
            await client.call_tool("Join", {"paths": "./image/cat.png, results/image/0002.png"})
            await client.call_tool("Report", {"markdown": "![a](results/image/0001.png) ![b](elsewhere.png)"})
            made = sample.made
            assert [arguments for _, arguments in sample.calls[1:]] == [
                {"image": str(made / "0001.png")},
                {"paths": f"{sample.picture},{made / '0002.png'}"},
                {"markdown": f"![a]({made / '0001.png'}) ![b](elsewhere.png)"},
            ]
            names = [resource.name for resource in (await client.list_resources()).resources]
            assert names == ["image/cat.png", "results/image/0001.png", "results/image/0002.png"]
            read = await client.read_resource("sample:///image/cat.png")
            assert base64.b64decode(read.contents[0].blob) == PICTURE

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("Add", {"a": 1}, "the arguments of Add do not fit: 'b' is a required property"),
        ("Add", {"a": "1", "b": 2.5}, "the arguments of Add do not fit: a: '1' is not of type 'integer'"),
        ("Add", {"a": 1, "b": 2, "c": 3}, "do not fit: Additional properties are not allowed ('c' was unexpected)"),
        ("Flip", {"image": "/etc/passwd"}, "there is no file '/etc/passwd' in this task; its files are image/cat.png"),
        ("Flip", {"image": "image/../image/cat.png"}, "there is no file 'image/../image/cat.png'"),
        ("Flip", {"image": "sample:///%2e%2e/secret"}, "there is no file"),
        ("Flip", {"image": "file:///etc/passwd"}, "there is no file"),
        ("Join", {"paths": "image/cat.png, ../secret"}, "there is no file '../secret'"),
    ],
)
def test_bad_arguments_are_errors_of_the_tool_that_the_log_gets(
    name: str, arguments: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            result = await client.call_tool(name, arguments)
        assert result.is_error and reason in texts(result)
        assert sample.calls == [] and sample.refused == [(name, texts(result))]

    asyncio.run(main())


def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            with pytest.raises(MCPError, match="there is no tool 'Delete'; known are Flip") as raised:
                await client.call_tool("Delete", {})
        assert raised.value.code == -32602
        assert [name for name, _ in sample.refused] == ["Delete"]

    asyncio.run(main())


@pytest.mark.parametrize("how", ["error", "fault"])
def test_texts_name_files_and_no_path_of_this_machine(how: str, tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            good = await client.call_tool("Add", {"a": 1, "b": 2})
            bad = await client.call_tool("Fail", {"how": how})
        assert sample.calls[0] == ("Add", {"a": 1, "b": 2.0})
        assert (good.is_error, texts(good)) == (False, "Add saw image/cat.png")
        assert (bad.is_error, texts(bad)) == (True, "image/cat.png is no cat")

    asyncio.run(main())


def test_results_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_TEXT", 5)
    monkeypatch.setattr(server, "MOST_INLINE", 10)
    monkeypatch.setattr(server, "MOST_RESOURCE", 10)

    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            assert texts(await client.call_tool("Add", {"a": 1, "b": 2})) == "Add s\n[16 characters left out]"
            flipped = await client.call_tool("Flip", {"image": "image/cat.png"})
            assert [block.type for block in flipped.content] == ["text", "resource_link"]
            with pytest.raises(MCPError, match=r"'cat\.png' has more than 10 bytes, which is the limit"):
                await client.read_resource("sample:///image/cat.png")

    asyncio.run(main())


def test_a_folder_gives_its_plain_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.txt", "deep/a.txt", ".key"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / "away").symlink_to("/etc")
    assert list(files_below(tmp_path)) == ["b.txt", "deep/a.txt"]


def test_nothing_is_traced() -> None:
    def none(_: Any) -> OpenSession:
        raise LookupError

    assert server.make_server(none).middleware == []


def test_a_text_file_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")

    async def main() -> None:
        async with started() as gateway:
            session = ToolSession((), Sample(tmp_path).call, files_below(tmp_path))
            async with connected(gateway.url, gateway.open(session)) as client:
                read = await client.read_resource("sample:///a.csv")
        assert (read.contents[0].text, read.contents[0].mime_type) == ("x,y\n1,2\n", "text/csv")

    asyncio.run(main())


# -- who reaches a session: by its token only, from this machine's programs only, while it is open


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PLAIN = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:PORT", "Host": "localhost:PORT"}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_requests_that_are_refused(headers: dict[str, str], status: int, tmp_path: Path) -> None:
    async def main() -> None:
        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(Sample(tmp_path).session())
            given = {"Authorization": f"Bearer {token}", **headers}
            filled = {
                name: value.replace("PORT", str(gateway.port)).replace("TOKEN", token) for name, value in given.items()
            }
            answer = await http.post(gateway.url, json=LIST, headers={**PLAIN, **filled})
            assert answer.status_code == status, answer.text
            assert ("Flip" in answer.text) == (status == 200)

    asyncio.run(main())


def test_each_token_has_its_own_files_and_a_closed_one_none(tmp_path: Path) -> None:
    async def main() -> None:
        samples = [Sample(folder) for folder in (tmp_path / "a", tmp_path / "b")]
        async with started() as gateway:
            first, second = (gateway.open(sample.session()) for sample in samples)
            async with connected(gateway.url, first) as one, connected(gateway.url, second) as two:
                made = (await one.call_tool("Flip", {"image": "image/cat.png"})).content[2].uri
                refused = await two.call_tool("Flip", {"image": made})
                assert refused.is_error and "there is no file" in texts(refused)
                assert samples[1].calls == []
            gateway.close_session(first)
            gateway.close_session(first)
            async with httpx2.AsyncClient() as http:
                for token, status in ((first, 401), (second, 200)):
                    headers = {**PLAIN, "Authorization": f"Bearer {token}"}
                    assert (await http.post(gateway.url, json=LIST, headers=headers)).status_code == status

    asyncio.run(main())


def test_closing_a_session_ends_its_calls(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway:
            token = gateway.open(sample.session())
            async with connected(gateway.url, token) as client:
                waiting = asyncio.create_task(client.call_tool("Wait", {}))
                await asyncio.wait_for(sample.waiting.wait(), 10)
                gateway.close_session(token)
                result = await asyncio.wait_for(waiting, 10)
        assert result.is_error and texts(result) == "the session was closed while Wait ran"

    asyncio.run(main())


def test_a_call_whose_body_comes_after_the_end_is_not_run(tmp_path: Path) -> None:
    """The token is checked before the body is read."""
    sample = Sample(tmp_path)

    async def main() -> None:
        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(sample.session())
            params = {"name": "Add", "arguments": {"a": 1, "b": 2}}
            body = json.dumps({**LIST, "method": "tools/call", "params": params}).encode()

            async def parts() -> AsyncIterator[bytes]:
                yield body[:10]
                await asyncio.sleep(0.2)  # the guard has seen the head
                gateway.close_session(token)
                yield body[10:]

            headers = {**PLAIN, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            answer = await http.post(gateway.url, content=parts(), headers=headers)
            assert "the session was closed before Add ran" in answer.text

    asyncio.run(main())
    assert sample.calls == []


def test_a_gateway_ends_with_calls_that_run(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            waiting = asyncio.create_task(client.call_tool("Wait", {}))
            await asyncio.wait_for(sample.waiting.wait(), 10)
            await asyncio.wait_for(gateway.close(), 10)
            assert texts(await waiting) == "the session was closed while Wait ran"

    asyncio.run(main())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(chunked: bool, tmp_path: Path) -> None:
    async def main() -> None:
        async def parts() -> AsyncIterator[bytes]:
            for _ in range(MOST_BODY // (1 << 20) + 1):
                yield b" " * (1 << 20)

        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(Sample(tmp_path).session())
            headers = {**PLAIN, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            body = parts() if chunked else b" " * (MOST_BODY + 1)
            answer = await http.post(gateway.url, content=body, headers=headers)
            assert answer.status_code == 413

    asyncio.run(main())


def test_a_session_may_have_a_limit_of_calls(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway:
            token = gateway.open(replace(sample.session(), most_calls=1))
            async with connected(gateway.url, token) as client:
                results = [await client.call_tool("Add", {"a": 1, "b": 2}) for _ in range(2)]
        assert [result.is_error for result in results] == [False, True]
        assert sample.refused == [("Add", "this task has used its 1 tool calls")]

    asyncio.run(main())


def test_many_sessions_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with started() as gateway:

            async def one(number: int) -> None:
                sample = Sample(tmp_path / str(number))
                async with connected(gateway.url, gateway.open(sample.session())) as client:
                    for _ in range(2):
                        await client.call_tool("Add", {"a": number, "b": 0.5})
                assert sample.calls == [("Add", {"a": number, "b": 0.5})] * 2

            await asyncio.gather(*map(one, range(40)))

    asyncio.run(main())
