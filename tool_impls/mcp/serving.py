"""``agentgauge serve-tools --mcp``: the tool server's tools by the Model Context Protocol.

The gateway is a client of the tool server, which listens on a free port of this machine. So queues, limits, caches and
metrics are those of every other client.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp.server.stdio import stdio_server

from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from tool_impls.mcp.files import files_below
from tool_impls.mcp.gateway import Gateway
from tool_impls.mcp.server import make_server
from tool_impls.mcp.session import OpenSession, Session
from tool_impls.server.access import Access
from tool_impls.server.app import ToolServer, running, stop_signal
from tool_impls.server.client import ToolServerBox
from tool_impls.server.scratch import own_scratch


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
    token = access.token or ""
    given = files_below(files) if files else {}
    folder = own_scratch()  # for files that tools make; that of a killed server is removed by the next one
    async with running(server, ("127.0.0.1", 0)) as port:
        box = ToolServerBox(f"http://:{quote(token, safe='')}@127.0.0.1:{port}")
        try:
            session = session_of(box, server.working, folder, given)
            if address is None:
                await _serve_streams(session)
            else:
                printed = {**printed, "tool_server": f"http://127.0.0.1:{port}"}
                await _serve_address(session, access, address, printed)
        finally:
            await box.close()
            shutil.rmtree(folder, ignore_errors=True)


async def _serve_address(
    session: Session, access: Access, address: tuple[str, int], printed: Mapping[str, str]
) -> None:
    stop = stop_signal()
    host, wanted = address
    gateway = await Gateway.start(host=host, port=wanted, access=Access(names=access.names))
    gateway.open(session, access.token)
    print(json.dumps({"url": gateway.url, **printed}), flush=True)
    await stop.wait()
    await gateway.close()


async def _serve_streams(session: Session) -> None:
    opened = OpenSession(session)
    server = make_server(lambda context: opened)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
