"""Where the calls of a server's tools are executed: in worker processes of this machine, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tool_impls.availability import check
from tool_impls.base import BenchTool
from tool_impls.fingerprint import fingerprints, result_identity
from tool_impls.server.call import Answer, Call
from tool_impls.server.metrics import Metrics
from tool_impls.server.worker import GPUS, WorkerSpec
from tool_impls.server.worker_pool import ProcessPool
from tool_impls.settings import ToolSettings

LIGHT_PROCESSES = max(1, min(4, os.cpu_count() or 1))
"""Processes for tools without a model of their own; each is started when it is needed."""

LIGHT_THREADS = (os.cpu_count() or 1) // LIGHT_PROCESSES
"""Threads of a numerical library in each of them: with all processors for each process, threads wait for each other."""


class Pool(Protocol):
    """Executes the calls of some tools. ``confinement``: as of ``ProcessPool``."""

    confinement: str

    async def run(self, call: Call, seconds: float) -> Answer: ...

    async def load(self, name: str) -> Answer: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """The tools to be executed, and their settings. ``extras``: files with further tools; ``root``: folder of files
    that calls may name; ``preload``: whether models are loaded at once; ``scratch``: of the server."""

    settings: ToolSettings
    kinds: Mapping[str, type[BenchTool]]
    extras: tuple[Path, ...]
    root: Path | None
    preload: bool
    metrics: Metrics
    scratch: Path


@dataclass(frozen=True, slots=True)
class Execution:
    """By tool: its pool, the calls that it takes at a time, and its state. ``fingerprints``: what ``/tools`` shows;
    ``identity``: everything that determines a tool's results besides a call's arguments. Both may read whole
    weights."""

    pools: Mapping[str, Pool]
    slots: Mapping[str, int]
    states: Mapping[str, str]
    fingerprints: Callable[[], Mapping[str, Any]]
    identity: Callable[[str], str]


def on_this_machine(wanted: ExecutionRequest) -> Execution:
    """Worker processes: one for each device for tools with models, a few for the others."""
    settings, kinds, metrics = wanted.settings, wanted.kinds, wanted.metrics
    devices = [device.strip() for device in settings.devices.split(",") if device.strip()] or ["auto"]
    heavy = {name for name, kind in kinds.items() if kind.on_device(settings)}
    confined = {name for name, kind in kinds.items() if kind.confined} - heavy
    pools: dict[str, Pool] = {}
    slots: dict[str, int] = {}
    for group in (heavy, confined, kinds.keys() - heavy - confined):
        places = devices if group is heavy else ["cpu"] * LIGHT_PROCESSES
        tools = tuple(name for name in kinds if name in group)
        threads = None if group is heavy else LIGHT_THREADS
        rest = (wanted.root, wanted.scratch, group is confined, threads)
        specs = [WorkerSpec(settings, tools, wanted.extras, place, *rest) for place in places]
        concurrency = {name: kinds[name].calls_at_once(settings) for name in tools}
        pool = ProcessPool(specs, concurrency, observe=metrics.batch, restarted=metrics.restarted)
        pools |= dict.fromkeys(tools, pool)
        slots |= {name: concurrency[name] * len(places) for name in tools}
    shown = sorted((name, value) for name, value in os.environ.items() if name.endswith("_VISIBLE_DEVICES"))
    place = f"{devices}, GPU: {any(Path(name).exists() for name in GPUS)}, {shown}"
    return Execution(
        pools,
        slots,
        check(settings, kinds),
        partial(fingerprints, settings, list(kinds)),
        lambda name: result_identity(settings, name, place),
    )
