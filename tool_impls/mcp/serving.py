"""``agentgauge serve-tools --mcp``: the tool server's tools by the Model Context Protocol.

The gateway is a client of the tool server, which listens on a free port of this machine. So queues, limits, caches and
metrics are those of every other client.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp.server.stdio import stdio_server

from agentgauge.core.files import OwnFolder
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from tool_impls.mcp.files import files_below
from tool_impls.mcp.gateway import Gateway
from tool_impls.mcp.server import make_server
from tool_impls.mcp.session import OpenSession, Session
from tool_impls.server.access import Access
from tool_impls.server.app import ToolServer, running, stop_signal
from tool_impls.server.client import ToolServerBox


def session_of(box: ToolBox, tools: Sequence[Tool], folder: Path, files: Mapping[str, Path]) -> Session:
    """A session whose calls go to a tool box, which puts the files that it makes below ``folder``."""
    readable = tuple(files.values())

    async def call(name: str, arguments: Mapping[str, Any]) -> Sequence[ToolOutput]:
        return await box.call(name, arguments, folder=folder, readable=readable)

    return Session(tools, call, files)


async def serve_mcp(
    server: ToolServer,
    access: Access,
    address: tuple[str, int] | None,
    files: Path | None,
    printed: Mapping[str, str],
) -> None:
    """Serve until SIGTERM or SIGINT at an address, which is printed with ``printed`` as one line of JSON; without one
    over standard input and output, until the client closes them.

    ``access``: that of the tool server, whose token is the client's, too. Raises UsageProblem for an address that
    cannot be used.
    """
    async with running(server, ("127.0.0.1", 0)) as port:
        if address is None:
            async with _opened(server, port, access, files) as session:
                await _serve_streams(session)
            return
        stop = stop_signal()
        host, wanted = address
        gateway = await Gateway.start(host=host, port=wanted, access=Access(names=access.names))
        # before the tool server has a client: from then on the token is a secret, which is not printed
        print(json.dumps({"url": gateway.url, **printed, "tool_server": f"http://127.0.0.1:{port}"}), flush=True)
        async with _opened(server, port, access, files) as session:
            gateway.open(session, access.token)
            await stop.wait()
            await gateway.close()


@asynccontextmanager
async def _opened(server: ToolServer, port: int, access: Access, files: Path | None) -> AsyncIterator[Session]:
    """The session of the client, whose calls go to the tool server at a port of this machine."""
    folder = OwnFolder("tools").path  # for files that tools make; that of a killed server is removed by the next one
    box = ToolServerBox(f"http://:{quote(access.token or '', safe='')}@127.0.0.1:{port}")
    try:
        yield session_of(box, server.working, folder, files_below(files) if files else {})
    finally:
        await box.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _serve_streams(session: Session) -> None:
    opened = OpenSession(session)
    server = make_server(lambda context: opened)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
