"""Where the models of a run's tools ran, as its records tell it.

The identity of a tool (``RealTools.check_tools``) has the key ``device`` where it loads a model: ``cpu``, or
``cuda:0 (NVIDIA A100), cuda:1 (NVIDIA A100)``. Other devices change at most the last digits of what a model works out,
so they are told, and keep no two runs apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

DEVICE = "device"

Identities = Mapping[str, Mapping[str, Any]]
"""Tool → what identifies it."""


def devices_of(tools: Identities) -> dict[str, str]:
    """By tool with a model where it ran."""
    return {name: str(tool[DEVICE]) for name, tool in tools.items() if tool.get(DEVICE)}


def by_device(devices: Mapping[str, str]) -> list[str]:
    """One line for each place: ``tools on cuda:0 (NVIDIA A100): A, B``. ``devices``: by tool, as of ``devices_of``."""
    groups: dict[str, list[str]] = {}
    for tool, named in sorted(devices.items()):
        groups.setdefault(named, []).append(tool)
    return [f"tools on {named}: {', '.join(groups[named])}{_mixed(named)}" for named in sorted(groups)]


def without_devices(tools: Identities) -> dict[str, dict[str, Any]]:
    """The identities but for devices: equal where the same tools were used."""
    return {name: {key: value for key, value in tool.items() if key != DEVICE} for name, tool in tools.items()}


def united(parts: Iterable[Identities]) -> dict[str, Mapping[str, Any]]:
    """The tools of several sessions or shards of one run, each with all devices on which its model ran."""
    found: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        for name, tool in part.items():
            devices = [device for one in (found.get(name, {}), tool) for device in _parts(one)]
            found[name] = {**tool, **({DEVICE: ", ".join(dict.fromkeys(devices))} if devices else {})}
    return found


def cards_of(tool: Mapping[str, Any]) -> str:
    """The devices of a tool without their numbers, each once: ``cpu, cuda (NVIDIA A100)``. Equal cards give equal
    results. Empty for a tool without a model."""
    return ", ".join(sorted({re.sub(r":\d+", "", device, count=1) for device in _parts(tool)}))


def table_without_devices(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings table [tools] but for ``devices``, and the ``device`` of the tables in it."""
    found = {}
    for name, given in table.items():
        kept = {key: value for key, value in given.items() if key != DEVICE} if isinstance(given, Mapping) else given
        if name != "devices" and (kept or not given):
            found[name] = kept
    return found


def _parts(tool: Mapping[str, Any]) -> list[str]:
    named = str(tool.get(DEVICE, ""))
    return re.split(r", (?=cpu|cuda)", named) if named else []


def _mixed(named: str) -> str:
    kinds = {device[:3] for device in _parts({DEVICE: named})}
    return " - results of a processor and of a GPU may differ in their last digits" if len(kinds) > 1 else ""
