"""Where the calls of tools are executed on this machine: its worker processes by tool; and a server's figures."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from agentgauge.core.errors import UsageProblem
from tool_impls.availability import Places, asks_for_gpu, check, places, served_fingerprints, shown, with_models
from tool_impls.base import BenchTool
from tool_impls.devices import CPU, Gpu, names, seen
from tool_impls.server.calls import CallAnswer, QueuedCall, failure
from tool_impls.server.worker import WorkerSpec
from tool_impls.server.worker_pool import STOPPED, ProcessPool
from tool_impls.settings import ToolSettings


class DevicePool:
    """A pool that ``make`` makes: at once, or at the first call, because to look for GPUs takes seconds.

    ``make`` raises UsageProblem for a device that is not there; later that is the answer to each call.
    """

    confinement = ""

    def __init__(self, make: Callable[[], ProcessPool], *, later: bool) -> None:
        self._make = make
        self._pool = None if later else make()
        self._making = asyncio.Lock()
        self._closed = False

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        pool = await self._made()
        return pool if isinstance(pool, CallAnswer) else await pool.run(call, seconds)

    async def load(self, name: str) -> CallAnswer:
        pool = await self._made()
        return pool if isinstance(pool, CallAnswer) else await pool.load(name)

    async def close(self) -> None:
        self._closed = True
        async with self._making:
            if self._pool is not None:
                await self._pool.close()

    async def _made(self) -> ProcessPool | CallAnswer:
        """The pool, or the answer to a call that it cannot take."""
        async with self._making:
            if self._pool is None and self._closed:
                return failure(*STOPPED)
            if self._pool is None:
                try:
                    self._pool = await asyncio.to_thread(self._make)
                except UsageProblem as problem:
                    return failure(500, str(problem))
            return self._pool


LIGHT_PROCESSES = max(1, min(4, os.cpu_count() or 1))
"""Processes for tools without a model of their own; each is started when it is needed."""

LIGHT_THREADS = (os.cpu_count() or 1) // LIGHT_PROCESSES
"""Threads of a numerical library in each of them: with all processors for each process, threads wait for each other."""


class CallPool(Protocol):
    """Executes the calls of some tools. ``confinement``: as of ``ProcessPool``."""

    confinement: str

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer: ...

    async def load(self, name: str) -> CallAnswer: ...

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
    metrics: ToolMetrics
    scratch: Path
    gpus: tuple[Gpu, ...] | None = None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """By tool: its pool, the calls that it takes at a time, and its state. ``fingerprints``: what ``/tools`` shows;
    it may read whole weights. ``devices``: by tool with a model where it runs, as far as it is known at the start."""

    pools: Mapping[str, CallPool]
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
    pools: dict[str, CallPool] = {}
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
        lambda: served_fingerprints(settings, list(kinds), shown(found(), there())),
        {} if later else shown(found(), there()),
    )


# -- figures in Prometheus' text format


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class ToolMetrics:
    """The figures of ``/metrics``. A server has its own registry, so that several in one process do not mix."""

    def __init__(self) -> None:
        own: Any = {"registry": CollectorRegistry()}
        tool: Any = {"labelnames": ["tool"], **own}
        self._registry = own["registry"]
        self._calls = Counter(
            "agentgauge_tool_calls", "Calls answered, by HTTP status.", labelnames=["tool", "status"], **own
        )
        self._errors = Counter("agentgauge_tool_errors", "Calls answered with another status than 200.", **tool)
        self._seconds = Histogram(
            "agentgauge_tool_seconds", "From request to answer, waiting included.", buckets=SECONDS, **tool
        )
        self._queue = Gauge("agentgauge_tool_queue_length", "Calls that wait for their turn.", **tool)
        self._running = Gauge("agentgauge_tool_running", "Calls at work.", **tool)
        self._device = Gauge(
            "agentgauge_tool_device", "1 where the model of a tool runs.", labelnames=["tool", "device"], **own
        )
        self._replica = Gauge("agentgauge_replica_up", "1 while a replica gets calls.", labelnames=["replica"], **own)
        batches = Histogram("agentgauge_batch_size", "Calls that a model answered at once.", buckets=SIZES, **own)
        restarts = Counter("agentgauge_process_restarts", "Worker processes that ended and were replaced.", **own)
        self.batch, self.restarted = batches.observe, restarts.inc

    def add_tool(self, tool: str, waiting: Callable[[], int], running: Callable[[], int]) -> None:
        """Show a tool from the beginning, so that a counter's first rise is seen."""
        self._calls.labels(tool, "200")
        self._errors.labels(tool)
        self._queue.labels(tool).set_function(waiting)
        self._running.labels(tool).set_function(running)

    def add_replica(self, url: str, there: Callable[[], bool]) -> None:
        self._replica.labels(url).set_function(there)

    def placed(self, tool: str, devices: str) -> None:
        """``devices``: those of its model, with their cards."""
        self._device.labels(tool, devices).set(1)

    def answered(self, tool: str, status: int, seconds: float) -> None:
        self._calls.labels(tool, str(status)).inc()
        if status != 200:
            self._errors.labels(tool).inc()
        self._seconds.labels(tool).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
