"""The command ``agentgauge serve-tools``: a tool server from settings and options."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.index import cache_folder
from agentgauge.core.service_process import TOOL_TOKEN, end_with_parent
from tool_impls import registry
from tool_impls.availability import check
from tool_impls.base import BenchTool
from tool_impls.fingerprint import fingerprints, result_identity
from tool_impls.server.access import WITHOUT_TOKEN, Access, is_host, is_loopback, plain_host
from tool_impls.server.app import ToolQueue, ToolServer, serve
from tool_impls.server.metrics import Metrics
from tool_impls.server.result_cache import ResultCache
from tool_impls.server.result_store import ResultStore
from tool_impls.server.worker import GPUS, WorkerSpec
from tool_impls.server.worker_pool import ProcessPool
from tool_impls.settings import ToolSettings
from tool_impls.settings_file import load

LIGHT_PROCESSES = max(1, min(4, os.cpu_count() or 1))
"""Processes for tools without a model of their own; each is started when it is needed."""

LIGHT_THREADS = (os.cpu_count() or 1) // LIGHT_PROCESSES
"""Threads of a numerical library in each of them: with all processors for each process, threads wait for each other."""


def build(
    settings: ToolSettings,
    names: Sequence[str] | None = None,
    *,
    extras: Sequence[Path] = (),
    files: Path | None = None,
    preload: bool = False,
    access: Access = WITHOUT_TOKEN,
) -> ToolServer:
    """A server with the named tools (all by default), made in its event loop. Raises UsageProblem for an unknown name.

    ``files``: a folder below which texts may name files that did not come with the call.
    """
    states = check(settings, names)
    metrics, scratch = Metrics(), own_scratch()
    devices = [device.strip() for device in settings.devices.split(",") if device.strip()] or ["auto"]
    processors = ["cpu"] * LIGHT_PROCESSES
    root, more = files.resolve() if files else None, tuple(path.resolve() for path in extras)
    kinds = {name: registry.TOOLS[name] for name in states}
    heavy = {name for name, kind in kinds.items() if kind.on_device(settings)}
    confined = {name for name, kind in kinds.items() if kind.confined} - heavy
    results = _results(settings, kinds, devices, scratch, metrics)
    queues = []
    for group, places in ((heavy, devices), (confined, processors), (kinds.keys() - heavy - confined, processors)):
        tools = tuple(name for name in kinds if name in group)
        threads = None if group is heavy else LIGHT_THREADS
        specs = [
            WorkerSpec(settings, tools, more, place, root, scratch, group is confined, threads) for place in places
        ]
        concurrency = {name: kinds[name].concurrency for name in tools}
        pool = ProcessPool(specs, concurrency, observe=metrics.batch, restarted=metrics.restarted)
        for name in tools:
            values = settings.values(name, kinds[name].known_options())
            bounds = {"slots": concurrency[name] * len(places), "limit": values["queue"], "seconds": values["seconds"]}
            queues.append(ToolQueue(kinds[name].offered(settings), states[name], pool, cache=results, **bounds))
    queues.sort(key=lambda queue: list(states).index(queue.tool.name))
    found = cache(lambda: fingerprints(settings, states))
    return ToolServer(queues, metrics, scratch, fingerprints=found, access=access, preload=preload)


def _results(
    settings: ToolSettings, kinds: Mapping[str, type[BenchTool]], devices: list[str], scratch: Path, metrics: Metrics
) -> ResultCache:
    """What is kept of the tools' results, in the user's cache folder."""
    kept = [name for name, kind in kinds.items() if settings.cache_mb and kind.is_kept(settings)]
    shown = sorted((name, value) for name, value in os.environ.items() if name.endswith("_VISIBLE_DEVICES"))
    place = f"{devices}, GPU: {any(Path(name).exists() for name in GPUS)}, {shown}"
    identities = {name: cache(partial(result_identity, settings, name, place)) for name in kept}
    store = ResultStore(cache_folder().with_name("tools"), settings.cache_mb * 10**6)
    return ResultCache(store, identities, scratch, metrics.looked_up)


SCRATCH = "agentgauge-tools-"


def own_scratch() -> Path:
    """A new folder for uploads, results and temporary files. Folders of servers that were killed are removed first."""
    for old in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*-*") if Path("/proc/self").exists() else ():
        pid = old.name.removeprefix(SCRATCH).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(old, ignore_errors=True)  # those of other users stay
    return Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-"))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="agentgauge serve-tools",
        description="Serve the real tools over HTTP, for runs on this machine and for AgentLego clients.",
        epilog=(
            "example: agentgauge serve-tools --port 16181 --settings agentgauge.toml --tools OCR,Calculator. It prints"
            f" the token that clients need (pytest --tool-server=http://:TOKEN@127.0.0.1:16181); {TOOL_TOKEN} chooses"
            " another. For a second machine: --host 0.0.0.0 --allow-host NAME."
        ),
    )
    add = made.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    add("--port", type=int, default=16181, help="port to listen on, 0 for any free one (default: %(default)s)")
    add("--no-token", action="store_true", help="answer clients without a token; on this machine only")
    named = "further host name of the server; may repeat (default: its address and localhost)"
    add("--allow-host", action="append", default=[], metavar="NAME", help=named)
    add("--settings", type=Path, metavar="FILE.toml", help="file whose [tools] table says what the tools may use")
    add("--tools", metavar="A,B", help="names of the tools to serve (default: all)")
    devices = "where models run, one process each (default: the settings', else auto)"
    add("--devices", metavar="cuda:0,cuda:1", help=devices)
    add("--preload", action="store_true", help="load all models at start; GET /ready answers 200 when that is done")
    scoring = "parity: options have the released tools' values"
    add("--scoring", choices=("parity", "strict"), default="parity", help=scoring)
    add("--files", type=Path, metavar="DIR", help="folder of files that clients may name without sending them")
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
    settings = load(arguments.settings) if arguments.settings else ToolSettings()
    released, devices = arguments.scoring == "parity", arguments.devices or settings.devices
    settings = replace(settings, allow_unsafe=arguments.allow_unsafe_code, released=released, devices=devices)
    access, printed = _access(arguments)
    if arguments.files and not arguments.files.is_dir():
        raise UsageProblem(f"--files names no folder: {arguments.files}")
    if not 0 <= arguments.port < 2**16:
        raise UsageProblem(f"--port must be from 0 (any free one) to 65535; got {arguments.port}")
    if arguments.tools is not None and not arguments.tools.strip(", "):
        raise UsageProblem("--tools names no tool; leave it out to serve all")
    names = [name.strip() for name in arguments.tools.split(",") if name.strip()] if arguments.tools else None
    server = build(
        settings, names, extras=arguments.extra, files=arguments.files, preload=arguments.preload, access=access
    )
    await serve(server, arguments.host, arguments.port, printed)


def _access(arguments: argparse.Namespace) -> tuple[Access, Mapping[str, str]]:
    """Which requests are answered, and what is printed of it: the token, where it is made here."""
    names = frozenset(map(plain_host, arguments.allow_host))
    if unfit := [name for name in names if not is_host(name)]:
        taken = "a host name or IP address without port, such as gpu-box"
        raise UsageProblem(f"--allow-host takes {taken}; got {unfit[0]!r}")
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
