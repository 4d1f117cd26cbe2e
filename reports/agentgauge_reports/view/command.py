"""``agentgauge view``: serves a folder of runs until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.web_server import bind, served
from agentgauge_reports.view.server import Viewer


def view(argv: Sequence[str], tasks: Registry) -> int:
    """Show a folder of runs in a browser, running ones live."""
    parser = CommandParser(
        prog="agentgauge view",
        description="Serve a folder of runs to a browser on this machine: figures over time, comparisons of runs, live"
        " progress of running runs, and report pages of finished runs. The folder is only read."
        " Ctrl-C ends the server.",
        epilog="example: agentgauge view runs --port 8765; from elsewhere first: ssh -L 8765:localhost:8765 MACHINE",
    )
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("runs"), metavar="RUNS", help="folder of runs (default: runs)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1 (default: a free one)")
    options = parser.parse_args(argv)
    if not 0 <= options.port <= 65535:
        raise UsageProblem(f"--port {options.port} is not a port; give a number up to 65535, or leave it out")
    asyncio.run(_serve(options.folder, options.port, tasks))
    return 0


async def _serve(folder: Path, port: int, tasks: Registry) -> None:
    viewer = Viewer(folder, tasks)
    ended = asyncio.Event()
    loop, signals = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end() -> None:
        ended.set()
        for number in signals:  # a second one ends the process at once
            loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, end)
    try:
        try:
            sockets = bind("127.0.0.1", port)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise UsageProblem(f"--port {port} cannot be used ({reason}); give another, or leave --port out") from None
        async with served(viewer.app(), sockets, shutdown_seconds=2.0) as port:
            count = len(viewer.runs.names())
            print(f"http://localhost:{port}/?token={viewer.access.token}")
            runs = f"{count} {'run' if count == 1 else 'runs'}"
            print(f"{runs} in {folder}; only this machine can connect; Ctrl-C ends the server", flush=True)
            await ended.wait()
    finally:
        viewer.close()
