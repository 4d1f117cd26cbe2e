"""``agentgauge serve-tools --mcp`` as users start it: real tools, over HTTP and over standard input and output."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from PIL import Image

import tool_impls.mcp
from agentgauge.core.processes import TOOL_TOKEN
from tests.mcp.sessions import connected, texts
from tool_impls.server.command import main

COMMAND = [sys.executable, "-m", "agentgauge.cli.main", "serve-tools", "--tools", "Calculator,DrawBox"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "image").mkdir(parents=True)
    Image.new("RGB", (40, 30), "white").save(folder / "image" / "plan.png")
    (folder / "away.png").symlink_to(folder / "image" / "plan.png")
    return folder


@contextmanager
def serving(*more: str | Path) -> Iterator[dict[str, str]]:
    """The server at a free port, and what it prints."""
    words = [*COMMAND, "--port", "0", *map(str, more)]
    env = {name: value for name, value in os.environ.items() if name != TOOL_TOKEN}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()
    assert process.returncode == 0


async def use(client: Client) -> None:
    """Solve and draw, and find the picture among the resources."""
    assert [tool.name for tool in (await client.list_tools()).tools] == ["Calculator", "DrawBox"]
    assert texts(await client.call_tool("Calculator", {"expression": "6 * 7"})) == "42"
    assert [found.name for found in (await client.list_resources()).resources] == ["image/plan.png"]
    drawn = await client.call_tool("DrawBox", {"image": "image/plan.png", "bbox": "(4, 4, 20, 20)"})
    picture = Image.open(io.BytesIO(base64.b64decode(drawn.content[1].data)))
    assert picture.size == (40, 30) and picture.getpixel((4, 10)) != (255, 255, 255)
    again = await client.call_tool("DrawBox", {"image": drawn.content[2].uri, "bbox": "(1, 1, 9, 9)"})
    assert texts(again) == "[image](results/image/0002.png)"
    bad = await client.call_tool("Calculator", {"expression": "6 *"})
    assert bad.is_error and "Calculator" in texts(bad)


def test_over_http(files: Path) -> None:
    async def calls(printed: dict[str, str]) -> None:
        async with connected(printed["url"], printed["token"]) as client:
            await use(client)
        async with httpx2.AsyncClient() as http:
            assert (await http.get(f"{printed['tool_server']}/metrics")).status_code == 401
            headers = {"Authorization": f"Bearer {printed['token']}"}
            metrics = (await http.get(f"{printed['tool_server']}/metrics", headers=headers)).text
        assert 'tool="Calculator"' in metrics

    with serving("--mcp", "--files", files) as printed:
        asyncio.run(calls(printed))


def test_over_standard_input_and_output(files: Path) -> None:
    async def calls() -> None:
        words = [*COMMAND[1:], "--mcp=stdio", "--files", str(files)]
        async with Client(StdioServerParameters(command=COMMAND[0], args=words)) as client:
            await use(client)

    asyncio.run(calls())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mcp", "--no-token"], "--mcp requires a token, which identifies its clients; leave --no-token out"),
        (["--mcp", "--host", "203.0.113.1"], "the MCP gateway cannot listen on 203.0.113.1:16181"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(words: list[str], sentence: str, capsys: Any) -> None:
    assert main([*words, "--tools", "Calculator"]) == 4
    assert sentence in capsys.readouterr().err


def test_without_the_package_the_extra_is_named(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_impls.mcp, "find_spec", lambda name: None)
    assert main(["--mcp", "--tools", "Calculator"]) == 4
    assert capsys.readouterr().err == "--mcp needs the package mcp; install it with: pip install 'agentgauge[mcp]'\n"
