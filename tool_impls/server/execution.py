"""Where the calls of a server's tools are executed: in worker processes of this machine, or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tool_impls.availability import check
from tool_impls.base import BenchTool
from tool_impls.devices import CPU, Gpu, names, seen
from tool_impls.fingerprint import fingerprints
from tool_impls.places import Places, asks_for_gpu, places, shown, with_models
from tool_impls.server.call import Answer, Call
from tool_impls.server.device_pool import DevicePool
from tool_impls.server.metrics import Metrics
from tool_impls.server.worker import WorkerSpec
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
    that calls may name; ``preload``: whether models are loaded at once; ``scratch``: of the server; ``gpus``: those of
    this machine, where they are known; ``later``: whether they are looked for at the first call of a model and not at
    the start."""

    settings: ToolSettings
    kinds: Mapping[str, type[BenchTool]]
    extras: tuple[Path, ...]
    root: Path | None
    preload: bool
    metrics: Metrics
    scratch: Path
    gpus: tuple[Gpu, ...] | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """By tool: its pool, the calls that it takes at a time, and its state. ``fingerprints``: what ``/tools`` shows;
    it may read whole weights. ``devices``: by tool with a model where it runs, as far as it is known at the start."""

    pools: Mapping[str, Pool]
    slots: Mapping[str, int]
    states: Mapping[str, str]
    fingerprints: Callable[[], Mapping[str, Any]]
    devices: Mapping[str, str] = field(default_factory=dict)


def on_this_machine(wanted: ExecutionRequest) -> Execution:
    """Worker processes: one for each device for tools with models, a few for the others.

    Raises UsageProblem for a device that is not there, unless GPUs are looked for later: then the calls fail.
    """
    settings, kinds, metrics = wanted.settings, wanted.kinds, wanted.metrics
    heavy = with_models(settings, kinds)
    asks = asks_for_gpu(settings, heavy)

    @cache
    def there() -> tuple[Gpu, ...]:
        return (seen() if wanted.gpus is None else wanted.gpus) if asks else ()

    @cache
    def found() -> Places:
        return places(settings, heavy, there())

    def spec(tools: tuple[str, ...], place: str, *, confined: bool = False, threads: int | None = None) -> WorkerSpec:
        return WorkerSpec(settings, tools, wanted.extras, place, wanted.root, wanted.scratch, confined, threads)

    def pool(specs: list[WorkerSpec], tools: Iterable[str], *, forgiven: int = 0) -> ProcessPool:
        concurrency = {name: kinds[name].concurrency for name in tools}
        observed: Any = {"observe": metrics.batch, "restarted": metrics.restarted}
        return ProcessPool(specs, concurrency, forgiven=forgiven, **observed)

    def on_devices() -> ProcessPool:
        for name, devices in shown(found(), there()).items():
            metrics.placed(name, devices)
        all_devices = dict.fromkeys(device for devices in found().values() for device in devices)
        tools = {device: tuple(name for name in heavy if device in found()[name]) for device in all_devices}
        return pool([spec(tools[device], device) for device in all_devices], heavy, forgiven=1)

    later = wanted.later and asks and wanted.gpus is None
    pools: dict[str, Pool] = {}
    slots: dict[str, int] = {}
    if heavy:
        pools = dict.fromkeys(heavy, DevicePool(on_devices, later=later))
        most = len(names(settings.devices))
        processes = dict.fromkeys(heavy, most) if later else {name: len(devices) for name, devices in found().items()}
        slots = {name: kinds[name].concurrency * processes[name] for name in heavy}
    confined = {name for name, kind in kinds.items() if kind.confined} - heavy.keys()
    for group in (confined, kinds.keys() - heavy.keys() - confined):
        tools = tuple(name for name in kinds if name in group)
        one = spec(tools, CPU, confined=group is confined, threads=LIGHT_THREADS)
        pools |= dict.fromkeys(tools, pool([one] * LIGHT_PROCESSES, tools))
        slots |= {name: kinds[name].concurrency * LIGHT_PROCESSES for name in tools}
    return Execution(
        pools,
        slots,
        check(settings, kinds),
        lambda: fingerprints(settings, list(kinds), shown(found(), there())),
        {} if later else shown(found(), there()),
    )
