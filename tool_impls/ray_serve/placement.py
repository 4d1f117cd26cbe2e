"""Which tools share replicas, and what a replica reserves. Imports no ray, because every settings file is checked
here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from agentgauge.core.errors import UsageProblem
from tool_impls.base import BenchTool
from tool_impls.devices import AUTO, CPU, DEVICE
from tool_impls.settings import PLACEMENT, ToolSettings

LIGHT = "light"
"""Name of the deployment of the tools without a model and without options of their own."""

LIGHT_REPLICAS = max(1, min(4, os.cpu_count() or 1))


@dataclass(frozen=True, slots=True)
class Deployment:
    """Tools that share replicas. ``gpus``: None for an equal part of the cluster's."""

    name: str
    tools: tuple[str, ...]
    fewest: int
    most: int
    cpus: float
    gpus: float | None


def planned(settings: ToolSettings, kinds: Mapping[str, type[BenchTool]]) -> list[Deployment]:
    """The deployments of some tools. Raises UsageProblem for numbers and devices that Ray does not take.

    A tool with options of its own has its own deployment. Tools with a model share that of their back end, so that each
    of its replicas loads the model once; light tools share one.
    """
    homes: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        homes.setdefault(_home(settings, name, kind), []).append(name)
    return [_deployment(settings, home, {name: kinds[name] for name in tools}) for home, tools in homes.items()]


def share_of_gpus(deployments: list[Deployment], there: float) -> float:
    """The part of ``there`` GPUs that a replica gets if its table names none: the same for all, so that Ray can place
    each replica."""
    asking = sum(deployment.most for deployment in deployments if deployment.gpus is None)
    return 1 / ceil(asking / there) if asking and there >= 1 else 0.0


def _home(settings: ToolSettings, name: str, kind: type[BenchTool]) -> str:
    if any(option.name in settings.tables.get(name, {}) for option in PLACEMENT):
        return name
    return (kind.tables[0] if kind.tables else name) if _has_model(settings, kind) else LIGHT


def _has_model(settings: ToolSettings, kind: type[BenchTool]) -> bool:
    # Weights may lie on the cluster's nodes only, where ``on_device`` is false on this machine.
    return kind.on_device(settings) or any(settings.tables.get(table, {}).get("weights") for table in kind.tables)


def _on_processor(settings: ToolSettings, kind: type[BenchTool]) -> bool:
    """Whether the ``device`` of a tool's table keeps its model off the GPUs. Raises UsageProblem for a device of one
    machine."""
    table = kind.device_table(settings)
    given = settings.tables.get(table, {}).get(DEVICE.name, AUTO)
    if given not in (AUTO, CPU):
        reason = "names a device of one machine; with --ray it is auto or cpu, and gpus says how much of a GPU it gets"
        raise UsageProblem(f"device = {given!r} in [tools.{table}] {reason}")
    return bool(given == CPU)


def _deployment(settings: ToolSettings, home: str, kinds: Mapping[str, type[BenchTool]]) -> Deployment:
    tools = tuple(kinds)
    if home == LIGHT:
        fewest, most = settings.replicas or (LIGHT_REPLICAS, LIGHT_REPLICAS)
        return Deployment(home, tools, fewest, most, 0.0, 0.0)
    replicas, cpus, gpus = (settings.value(home, option) for option in PLACEMENT)
    for option, value in (("cpus", cpus), ("gpus", gpus)):
        if value is not None and value > 1 and value % 1:
            raise UsageProblem(f"{option} in [tools.{home}] must be an integer or less than 1; got {value:g}")
    on_processor = [_on_processor(settings, kind) for kind in kinds.values() if _has_model(settings, kind)]
    if gpus and any(on_processor):
        raise UsageProblem(f'gpus = {gpus:g} in [tools.{home}] contradicts device = "cpu"; take one of them out')
    if gpus is None and all(on_processor):  # also where no tool has a model
        gpus = 0.0
    fewest, most = replicas or (1, 1)
    return Deployment(home, tools, fewest, most, cpus, gpus)
