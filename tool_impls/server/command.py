"""The command ``agentgauge serve-tools``: a tool server from settings and options."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.files import OwnFolder
from agentgauge.core.processes import TOOL_TOKEN, CommandParser, end_with_parent
from agentgauge.core.tools import by_device
from tool_impls import registry
from tool_impls.availability import GPUS, LATER, check, handed
from tool_impls.devices import Gpu, check_names
from tool_impls.registry import load
from tool_impls.server.app import ToolQueue, ToolServer, serve
from tool_impls.server.execution import ExecutionRequest, ToolMetrics, on_this_machine
from tool_impls.server.replicas import front
from tool_impls.server.requests import WITHOUT_TOKEN, Access, is_host, is_loopback, plain_host
from tool_impls.settings import NO_SERVE, ToolSettings


def build(
    settings: ToolSettings,
    names: Sequence[str] | None = None,
    *,
    extras: Sequence[Path] = (),
    files: Path | None = None,
    preload: bool = False,
    access: Access = WITHOUT_TOKEN,
    gpus: tuple[Gpu, ...] | None = None,
    later: bool = False,
) -> ToolServer:
    """A server with the named tools (all by default), made in its event loop. Raises UsageProblem for an unknown name,
    and for a device that is not there.

    ``files``: a folder below which texts may name files that did not come with the call. ``gpus``, ``later``: as of
    ``ExecutionRequest``.
    """
    kinds = {name: registry.TOOLS[name] for name in check(settings, names)}
    metrics, scratch = ToolMetrics(), OwnFolder("tools").path
    root, added = files.resolve() if files else None, tuple(path.resolve() for path in extras)
    execution = on_this_machine(ExecutionRequest(settings, kinds, added, root, preload, metrics, scratch, gpus, later))
    queues = []
    for name, kind in kinds.items():
        values = settings.values(name, kind.known_options())
        bounds = {"slots": execution.slots[name], "limit": values["queue"], "seconds": values["seconds"]}
        state, pool = execution.states[name], execution.pools[name]
        queues.append(ToolQueue(kind.offered(settings), state, pool, **bounds))
    found = cache(execution.fingerprints)
    more: Any = {"access": access, "preload": preload, "devices": execution.devices}
    return ToolServer(queues, metrics, scratch, fingerprints=found, **more)


def parser() -> CommandParser:
    made = CommandParser(
        prog="agentgauge serve-tools",
        description="Serve the real tools over HTTP, for runs on this machine and for AgentLego clients.",
        epilog=(
            "example: agentgauge serve-tools --port 16181 --settings agentgauge.toml --tools OCR,Calculator. The server"
            f" prints its token, or takes the value of {TOOL_TOKEN} as its token. Clients need the same token: set"
            f" {TOOL_TOKEN}, then run pytest --tool-server=http://127.0.0.1:16181. For a second machine: --host 0.0.0.0"
            " --allow-host NAME. With --mcp, any agent can use the tools: it sends Authorization: Bearer TOKEN."
        ),
    )
    add = made.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    add("--port", type=int, default=16181, help="port to listen on, 0 for any free one (default: %(default)s)")
    add("--no-token", action="store_true", help="answer clients without a token; on this machine only")
    named = "further host name of the server; may repeat (default: its address and localhost)"
    mcp = "serve them by the Model Context Protocol: over HTTP (default), or over standard input and output"
    add("--mcp", nargs="?", const="http", choices=("http", "stdio"), help=mcp)
    add("--allow-host", action="append", default=[], metavar="NAME", help=named)
    add("--settings", type=Path, metavar="FILE.toml", help="file whose [tools] table says what the tools may use")
    add("--tools", metavar="A,B", help="names of the tools to serve (default: all)")
    devices = "where models run, one process each (default: the settings', else auto)"
    add("--devices", metavar="cuda:0,cuda:1", help=devices)
    add(GPUS, help=argparse.SUPPRESS)  # what a run has found out for its own server
    add("--preload", action="store_true", help="load all models at start; GET /ready answers 200 when that is done")
    replica = "run no tool here: pass calls on to this tool server, and to the others that are named; may repeat"
    add("--replica", action="append", default=[], metavar="URL", help=replica)
    add("--ray", nargs="?", const="", help=argparse.SUPPRESS)  # that was; its users are told what to do
    scoring = "parity: options have the released tools' values"
    add("--scoring", choices=("parity", "strict"), default="parity", help=scoring)
    files = "folder of files that clients may name without sending them; with --mcp they are its resources"
    add("--files", type=Path, metavar="DIR", help=files)
    extra = "Python file with further tools; equal names replace ours"
    add("--extra", type=Path, action="append", default=[], metavar="FILE.py", help=extra)
    add(
        "--allow-unsafe-code",
        action="store_true",
        help="run code that a model wrote even if this machine cannot confine it",
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 after a signal, 4 for wrong usage."""
    arguments = parser().parse_args(argv)
    end_with_parent()
    try:
        for extra in arguments.extra:
            registry.add(extra)
        asyncio.run(_run(arguments))
    except AgentGaugeError as error:
        print(error, file=sys.stderr)
        return 4
    return 0


async def _run(arguments: argparse.Namespace) -> None:
    if arguments.ray is not None:
        raise UsageProblem(f"--ray {NO_SERVE}")
    access, printed = _access(arguments)
    if arguments.files and not arguments.files.is_dir():
        raise UsageProblem(f"--files names no folder: {arguments.files}")
    if not 0 <= arguments.port < 2**16:
        raise UsageProblem(f"--port must be from 0 (any free one) to 65535; got {arguments.port}")
    if arguments.tools is not None and not arguments.tools.strip(", "):
        raise UsageProblem("--tools names no tool; leave it out to serve all")
    names = [name.strip() for name in arguments.tools.split(",") if name.strip()] if arguments.tools else None
    if arguments.mcp:
        from tool_impls.mcp import require_package

        require_package("--mcp")
    server = await _in_front(arguments, names, access) if arguments.replica else _built(arguments, names, access)
    for line in by_device(server.devices):
        print(line, file=sys.stderr)
    if arguments.mcp:
        from tool_impls.mcp.gateway import serve_mcp

        address = None if arguments.mcp == "stdio" else (arguments.host, arguments.port)
        await serve_mcp(server, access, address, arguments.files, printed)
    else:
        await serve(server, arguments.host, arguments.port, printed)


def _built(arguments: argparse.Namespace, names: Sequence[str] | None, access: Access) -> ToolServer:
    settings = load(arguments.settings) if arguments.settings else ToolSettings()
    released, devices = arguments.scoring == "parity", arguments.devices or settings.devices
    settings = replace(settings, allow_unsafe=arguments.allow_unsafe_code, released=released, devices=devices)
    _check_devices(arguments.devices)
    later = arguments.gpus == LATER
    gpus = None if later or arguments.gpus is None else handed(arguments.gpus)
    rest: Any = {"preload": arguments.preload, "access": access, "gpus": gpus, "later": later}
    return build(settings, names, extras=arguments.extra, files=arguments.files, **rest)


async def _in_front(arguments: argparse.Namespace, names: Sequence[str] | None, access: Access) -> ToolServer:
    """A server of the replicas. Raises UsageProblem for options that are the replicas'."""
    theirs = [
        "settings",
        "devices",
        "preload",
        "scoring",
        "extra",
        "allow_unsafe_code",
        *([] if arguments.mcp else ["files"]),
    ]
    for name in theirs:
        if getattr(arguments, name) != parser().get_default(name):
            where = "is for the servers that run tools; give it to each replica, and leave it out beside --replica"
            raise UsageProblem(f"--{name.replace('_', '-')} {where}")
    return await front(arguments.replica, names, access)


def _check_devices(wanted: str | None) -> None:
    try:
        check_names(wanted or "")
    except UsageProblem as problem:
        raise UsageProblem(f"--devices: {problem}") from None


def _access(arguments: argparse.Namespace) -> tuple[Access, Mapping[str, str]]:
    """Which requests are answered, and what is printed of it: the token, where it is made here."""
    names = frozenset(map(plain_host, arguments.allow_host))
    if unfit := [name for name in names if not is_host(name)]:
        taken = "a host name or IP address without port, such as gpu-box"
        raise UsageProblem(f"--allow-host takes {taken}; got {unfit[0]!r}")
    if arguments.no_token and arguments.mcp:
        raise UsageProblem("--mcp requires a token, which identifies its clients; leave --no-token out")
    if arguments.no_token:
        if not is_loopback(arguments.host):
            reason = "can be reached from other machines, which need a token: leave --no-token out"
            raise UsageProblem(f"--host {arguments.host} {reason}")
        return Access(names=names), {}
    if given := os.environ.get(TOOL_TOKEN):
        return Access(given, names), {}
    token = secrets.token_urlsafe(32)
    return Access(token, names), {"token": token}


if __name__ == "__main__":
    sys.exit(main())
