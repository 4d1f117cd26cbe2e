"""A gateway on loopback with toy tools, and clients of the protocol's own package."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from tool_impls.mcp.gateway import Gateway
from tool_impls.mcp.session import ToolSession

PICTURE = b"\x89PNG\r\n\x1a\nnot much of a picture"

FLIP = Tool("Flip", "Turns a picture.", (Parameter("image", "image"), Parameter("int", "times", optional=True)))
ADD = Tool("Add", "Adds.", (Parameter("int", "a"), Parameter("float", "b", "the second")))
REPORT = Tool("Report", "Writes a report.", (Parameter("text", "markdown", attach="markdown"),))
JOIN = Tool("Join", "Joins files.", (Parameter("text", "paths", attach="files"),))
FAIL = Tool("Fail", "Fails.", (Parameter("text", "how"),))
WAIT = Tool("Wait", "Waits.")
TOOLS = (FLIP, ADD, REPORT, JOIN, FAIL, WAIT)


class Sample:
    """A sample with one picture, and the log of what its tools were asked."""

    def __init__(self, folder: Path) -> None:
        self.made = folder / "made" / "image"
        self.made.mkdir(parents=True)
        self.picture = folder / "cat.png"
        self.picture.write_bytes(PICTURE)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[tuple[str, str]] = []
        self.waiting = asyncio.Event()

    def session(self) -> ToolSession:
        return ToolSession(TOOLS, self.call, {"image/cat.png": self.picture}, self.refuse)

    def refuse(self, name: str, arguments: Mapping[str, Any], reason: str) -> None:
        self.refused.append((name, reason))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> list[ToolOutput]:
        self.calls.append((name, dict(arguments)))
        if name == "Flip":
            path = self.made / f"{len(self.calls):04d}.png"
            path.write_bytes(PICTURE[::-1])
            return [ToolOutput("image", str(path))]
        if name == "Fail":
            raise (ToolFault if arguments["how"] == "fault" else ToolError)(f"{self.picture} is no cat")
        if name == "Wait":
            self.waiting.set()
            await asyncio.Event().wait()
        return [ToolOutput("text", f"{name} saw {self.picture}")]


@asynccontextmanager
async def started() -> AsyncIterator[Gateway]:
    gateway = await Gateway.start()
    try:
        yield gateway
    finally:
        await gateway.close()


@asynccontextmanager
async def connected(url: str, token: str, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def texts(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
