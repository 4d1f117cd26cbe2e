"""Tools of other packages: each a class behind an entry point of the group ``agentgauge.tools``."""

from __future__ import annotations

import warnings
from collections.abc import Container
from importlib.metadata import EntryPoint, entry_points

from agentgauge.core.tools import Tool
from tool_impls.base import BenchTool, unavailable
from tool_impls.settings import ToolSettings

ENTRY_POINTS = "agentgauge.tools"


def installed_tools(taken: Container[str]) -> dict[str, type[BenchTool]]:
    """Tools of other packages by name. A tool that cannot be loaded is unavailable, with the reason. A tool with a
    ``taken`` name is left out, with a warning."""
    found: dict[str, type[BenchTool]] = {}
    for point in entry_points(group=ENTRY_POINTS):
        kind = _loaded(point)
        name = kind.meta.name
        if name in taken or name in found:
            warnings.warn(f"the tool {name} of {_package(point)} is left out: there is one of that name", stacklevel=2)
            continue
        found[name] = kind
    return found


def _loaded(point: EntryPoint) -> type[BenchTool]:
    try:
        kind = point.load()
    except Exception as error:  # of another package, whose tools must not take ours with them
        return _lost(point, f"cannot be loaded: {type(error).__name__}: {error}")
    if not isinstance(kind, type) or not issubclass(kind, BenchTool):
        return _lost(point, f"is {kind!r} and no tool; use @tool or a class that inherits Tool, of agentgauge.tools")
    if lacking := [name for name in ("meta", "category") if not hasattr(kind, name)]:
        return _lost(point, f"lacks {', '.join(lacking)}")
    kind.distribution = _package(point)
    return kind


def _lost(point: EntryPoint, why: str) -> type[BenchTool]:
    """Replaces a tool that cannot be used, and gives the reason when a run needs the tool."""
    reason = unavailable(f"{point.value} of {_package(point)} {why}")

    def state(cls: type[BenchTool], settings: ToolSettings) -> str:
        return reason

    def apply(self: BenchTool, folder: object, /, **values: object) -> None:
        raise NotImplementedError(reason)

    body = {"meta": Tool(point.name, reason), "category": "logic", "state": classmethod(state), "apply": apply}
    return type(point.name, (BenchTool,), body)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.module.partition(".")[0]
