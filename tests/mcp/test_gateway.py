"""The tools by the protocol's own client, over real HTTP: schemas, calls, files, errors."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.mcp.sessions import FLIP, PICTURE, Sample, connected, started, texts
from tool_impls.mcp import server
from tool_impls.mcp.session import OpenSession, Session, files_below, input_schema

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
            session = Session((), Sample(tmp_path).call, files_below(tmp_path))
            async with connected(gateway.url, gateway.open(session)) as client:
                read = await client.read_resource("sample:///a.csv")
        assert (read.contents[0].text, read.contents[0].mime_type) == ("x,y\n1,2\n", "text/csv")

    asyncio.run(main())
