"""One replica of a deployment on Ray Serve: worker processes of its tools, as a tool server on that machine has them.

A replica runs no tool itself. So time limits, confinement and crashes are the same as without Ray, and a crashing tool
does not end its replica.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from agentgauge.core.announcement import own_version
from agentgauge.core.files import OwnFolder
from tool_impls import registry
from tool_impls.availability import check, places, served_fingerprints, shown, with_models
from tool_impls.base import works
from tool_impls.devices import AUTO, CPU, kind, seen
from tool_impls.server.calls import CallAnswer, QueuedCall
from tool_impls.server.worker import WorkerSpec
from tool_impls.server.worker_pool import ProcessPool
from tool_impls.settings import ToolSettings

# -- a call with the contents of its files, for a replica on another machine


@dataclass(frozen=True, slots=True)
class SentCall:
    """``folder``: below which the files of the call lie on the sender. ``contents``: by their paths from there on."""

    call: QueuedCall
    folder: str
    contents: Mapping[str, bytes]


def packed(call: QueuedCall) -> SentCall:
    """Reads the files that came with the call: they lie beside its folder, with nothing else."""
    folder = Path(call.folder).parent
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return SentCall(call, str(folder), files)


@contextmanager
def unpacked(sent: SentCall, scratch: Path) -> Iterator[QueuedCall]:
    """The call with its files in a new folder below ``scratch``, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="call-", dir=scratch))
    try:
        moved = {}
        for name, content in sent.contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            moved[str(Path(sent.folder, name))] = str(path)
        work = folder / Path(sent.call.folder).name
        work.mkdir()
        values, files = (_moved(paths, moved) for paths in (sent.call.values, sent.call.files))
        yield replace(sent.call, folder=str(work), values=values, files=files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _moved(values: Mapping[str, Any], moved: Mapping[str, str]) -> dict[str, Any]:
    return {name: moved.get(value, value) if isinstance(value, str) else value for name, value in values.items()}


# -- the replica


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    """The settings of a replica. ``extras``: path and content of files with further tools. ``threads``: of a numerical
    library; None: as it chooses."""

    settings: ToolSettings
    tools: tuple[str, ...]
    extras: tuple[tuple[Path, bytes], ...]
    device: str  # auto: the GPU that Ray gave, where it gave one
    root: Path | None
    scratch: Path  # of the server: a replica on its machine has its own folder there, so that it ends with the server
    threads: int | None
    preload: bool
    lease: Any  # an actor of the server's, which ends with it; None where the cluster does


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """An answer, and what has happened in the replica since its last one. ``batches``: their sizes; ``restarts``: of
    worker processes."""

    answer: CallAnswer
    batches: tuple[int, ...]
    restarts: int
    confinement: str


class Replica:
    """The object that Serve creates in each replica. Its methods run in the replica's event loop."""

    async def __init__(self, plan: ReplicaPlan) -> None:  # type: ignore[misc]  # Serve awaits it
        os.environ.pop("OMP_NUM_THREADS", None)  # Ray's; ``threads`` says it here
        self._plan = plan
        self._scratch = Path(mkdtemp(dir=plan.scratch)) if plan.scratch.is_dir() else OwnFolder("tools").path
        self._batches: list[int] = []
        self._restarts = 0
        extras = tuple(_on_this_node(path, content, self._scratch) for path, content in plan.extras)
        for extra in extras:
            registry.add(extra)
        kinds = {name: registry.TOOLS[name] for name in plan.tools}
        confined = {name for name, kind in kinds.items() if kind.confined and not kind.on_device(plan.settings)}
        concurrency = {name: kind.concurrency for name, kind in kinds.items()}
        self._turns = {name: asyncio.Semaphore(number) for name, number in concurrency.items()}
        self._there = await asyncio.to_thread(seen) if plan.device == AUTO else ()
        self._places = places(
            replace(plan.settings, devices=plan.device), with_models(plan.settings, kinds), self._there
        )
        every = [device for devices in self._places.values() for device in devices]
        device = next((device for device in every if kind(device) != CPU), CPU)  # Ray gives a replica one GPU at most
        self._pools: dict[str, ProcessPool] = {}
        for names in (confined, kinds.keys() - confined):
            tools = tuple(name for name in kinds if name in names)
            rest = (device, plan.root, self._scratch, names is confined, plan.threads)
            spec = WorkerSpec(plan.settings, tools, extras, *rest)
            more: Any = {"observe": self._batches.append, "restarted": self._restarted}
            pool = ProcessPool([spec], concurrency, forgiven=int(any(name in self._places for name in tools)), **more)
            self._pools |= dict.fromkeys(tools, pool)
        if plan.preload:  # the first call reports what fails, as without a replica
            await asyncio.gather(*(self.load(name) for name, state in self._states().items() if works(state)))

    async def run(self, sent: SentCall, seconds: float) -> ReplicaReport:
        """Work on a call. As many calls of a tool run at a time as its process takes; further ones wait."""
        name = sent.call.tool
        async with self._turns[name]:
            with unpacked(sent, self._scratch) as call:
                return self._report(name, await self._pools[name].run(call, seconds))

    async def load(self, name: str) -> ReplicaReport:
        """Load a tool's models, unless they are loaded."""
        return self._report(name, await self._pools[name].load(name))

    async def about(self) -> tuple[str, dict[str, str]]:
        """The version of AgentGauge, and the states of the tools on this node, where their weights and keys are."""
        return own_version(), self._states()

    async def fingerprints(self) -> dict[str, dict[str, Any]]:
        devices = shown(self._places, self._there)
        return await asyncio.to_thread(served_fingerprints, self._plan.settings, self._plan.tools, devices)

    async def check_health(self) -> None:
        """Serve calls it every few seconds. If the server was killed, this deletes its tools from the cluster."""
        from ray import serve
        from ray.exceptions import ActorDiedError

        if self._plan.lease is None:
            return
        try:
            await self._plan.lease.held.remote()
        except ActorDiedError:
            await asyncio.to_thread(serve.delete, serve.get_replica_context().app_name)

    async def __del__(self) -> None:
        """Serve calls it when the replica is to end."""
        await asyncio.gather(*(pool.close() for pool in set(self._pools.values())))
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _states(self) -> dict[str, str]:
        return check(self._plan.settings, self._plan.tools)

    def _restarted(self) -> None:
        self._restarts += 1

    def _report(self, name: str, answer: CallAnswer) -> ReplicaReport:
        report = ReplicaReport(answer, tuple(self._batches), self._restarts, self._pools[name].confinement)
        self._batches.clear()
        self._restarts = 0
        return report


def _on_this_node(path: Path, content: bytes, folder: Path) -> Path:
    """The file of that path where it is the same here, else a copy of it."""
    if path.is_file() and path.read_bytes() == content:
        return path
    (folder / path.name).write_bytes(content)
    return folder / path.name
