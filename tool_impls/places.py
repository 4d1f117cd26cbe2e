"""Where the tools with models run under given settings: on the ``device`` of their table, else on ``devices`` of
[tools]."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentgauge.core.errors import UsageProblem
from tool_impls.availability import check
from tool_impls.base import BenchTool, works
from tool_impls.devices import AUTO, CPU, DEVICE, Gpu, has_gpu, kind, names, placed, seen
from tool_impls.registry import TOOLS
from tool_impls.settings import ToolSettings

Places = Mapping[str, tuple[str, ...]]
"""By tool the devices that have a process for it, such as ``cpu`` and ``cuda:0``; tools without a model have none."""

GPUS, LATER = "--gpus", "later"
"""The option by which a run tells its tool server which GPUs there are, and its value where it has not looked."""


def with_models(settings: ToolSettings, tools: Iterable[str]) -> dict[str, type[BenchTool]]:
    """Those of the tools that load a model, and can work."""
    states = check(settings, tools)
    return {name: TOOLS[name] for name, state in states.items() if works(state) and TOOLS[name].on_device(settings)}


def asks_for_gpu(settings: ToolSettings, kinds: Mapping[str, type[BenchTool]]) -> bool:
    """Whether it depends on the GPUs of this machine where some tools with models run."""
    return any(_asks(settings, tool) for tool in kinds.values())


def _asks(settings: ToolSettings, tool: type[BenchTool]) -> bool:
    given, shared = _given(settings, tool)
    own = given not in ("", AUTO)
    return any(kind(name) != CPU for name in names(given or shared)) and (own or not tool.lacks_gpu(settings))


def _given(settings: ToolSettings, tool: type[BenchTool]) -> tuple[str, str]:
    """The ``device`` of a tool's table, empty where it has none, and the ``devices`` of all tools."""
    table = settings.tables.get(tool.device_table(settings), {})
    return str(table.get(DEVICE.name) or ""), settings.devices


def places(settings: ToolSettings, kinds: Mapping[str, type[BenchTool]], there: Sequence[Gpu]) -> Places:
    """The places of tools with models. ``there``: the GPUs of this machine.

    A tool that can use no GPU runs on the processor where ``auto`` or ``devices`` lead to a GPU. Raises UsageProblem
    for a name that is none, for a GPU that is not there, and for a table that names a GPU which its tool cannot use.
    """
    return {name: _places(settings, tool, there) for name, tool in kinds.items()}


def _places(settings: ToolSettings, tool: type[BenchTool], there: Sequence[Gpu]) -> tuple[str, ...]:
    given, shared = _given(settings, tool)
    table = f"device in [tools.{tool.device_table(settings)}]"
    lacking = tool.lacks_gpu(settings)
    if lacking and given in ("", AUTO):
        return tuple(name for name in names(given or shared) if kind(name) == CPU) or (CPU,)
    try:
        found = placed(given or shared, there)
    except UsageProblem as problem:
        raise UsageProblem(f"{table if given else 'devices in [tools]'}: {problem}") from None
    if lacking and any(kind(device) != CPU for device in found):
        raise UsageProblem(f"{table} is {given!r}, but {tool.meta.name} cannot use a GPU here: {lacking}; or name cpu")
    return found


def shown(found: Places, there: Sequence[Gpu]) -> dict[str, str]:
    """By tool its devices with the names of their cards: ``cuda:0 (NVIDIA H100 80GB HBM3), cpu``."""
    cards = {gpu.device: f"{gpu.device} ({gpu.card})" for gpu in there}
    return {name: ", ".join(cards.get(device, device) for device in devices) for name, devices in found.items()}


def shown_here(settings: ToolSettings, tools: Iterable[str]) -> dict[str, str]:
    """By tool with a model where it runs on this machine. Raises UsageProblem as ``places``."""
    kinds = with_models(settings, tools)
    there = seen() if asks_for_gpu(settings, kinds) else ()
    return shown(places(settings, kinds, there), there)


# -- what a run tells its server, so that both mean the same GPU by ``auto``


def handed_on() -> list[str]:
    """The arguments that tell a tool server what this process knows of the GPUs."""
    if not has_gpu():
        return []  # the server sees at once that there is none
    if not seen.cache_info().currsize:
        return [GPUS, LATER]
    ordered = sorted(seen(), key=lambda gpu: gpu.device != placed(AUTO, seen())[0])
    return [GPUS, json.dumps([[gpu.device, gpu.card] for gpu in ordered])]


def handed(text: str) -> tuple[Gpu, ...]:
    """The GPUs of ``handed_on``, that of ``auto`` first. Raises UsageProblem."""
    try:
        found: Any = json.loads(text)
        return tuple(Gpu(str(device), str(card)) for device, card in found)
    except (ValueError, TypeError):
        pairs = '[["cuda:0", "name of the card"]]'
        raise UsageProblem(f"{GPUS} must be {LATER}, or a JSON list such as {pairs}; got {text[:80]!r}") from None
