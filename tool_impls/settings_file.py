"""Reading ``ToolSettings`` from the ``[tools]`` table of a settings file, checked against the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_toml
from tool_impls.devices import DEVICE, check_names
from tool_impls.options import as_table, read_table
from tool_impls.ray_serve.placement import PLACEMENT
from tool_impls.registry import BACKENDS, TOOLS
from tool_impls.settings import TOP, ToolSettings


def load(path: Path) -> ToolSettings:
    """Read the ``[tools]`` table of a TOML file; all defaults where it has none. Raises UsageProblem."""
    try:
        document = read_toml(path)
    except OSError as error:
        raise UsageProblem(f"the settings file {path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise UsageProblem(f"the settings file {path} is not valid TOML: {error}") from None
    return parse(document.get("tools", {}), path.resolve().parent)


def parse(table: Any, base: Path) -> ToolSettings:
    """Settings from the decoded table. ``base``: where relative paths start. Raises UsageProblem."""
    own = {**BACKENDS, **{name: kind.known_options() for name, kind in TOOLS.items()}}
    known = {name: (*options, *PLACEMENT) for name, options in own.items()}
    table = as_table(table, "tools", {**known, "disable": None, **{option.name: None for option in TOP}})
    top = read_table({option.name: table[option.name] for option in TOP if option.name in table}, "tools", TOP, base)
    tables = {
        name: read_table(table[name], f"tools.{name}", options, base)
        for name, options in known.items()
        if name in table
    }
    for where, wanted in [("devices in [tools]", top.get("devices")), *_devices(tables)]:
        try:
            check_names(wanted or "")
        except UsageProblem as problem:
            raise UsageProblem(f"{where}: {problem}") from None
    return ToolSettings(disable=_names(table.get("disable", []), frozenset(TOOLS)), tables=tables, **top)


def _devices(tables: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(f"{DEVICE.name} in [tools.{name}]", str(table.get(DEVICE.name, ""))) for name, table in tables.items()]


def _names(value: Any, known: frozenset[str]) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageProblem(f"disable in [tools] must be a list of tool names; got {value!r}")
    if unknown := sorted(set(value) - known):
        names = ", ".join(unknown)
        raise UsageProblem(f"disable in [tools] names unknown tools: {names}; known are {', '.join(sorted(known))}")
    return frozenset(value)
