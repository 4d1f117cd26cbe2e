"""The public names for authors of tools. No module of the project imports from here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgauge.core.errors import Fault, ToolError
    from agentgauge.core.tools import Parameter
    from agentgauge.core.tools import Tool as Meta
    from tool_impls.base import BenchTool as Tool
    from tool_impls.base import unavailable
    from tool_impls.functions import Audio, File, Image, Video, tool
    from tool_impls.settings import Option, ToolSettings

__all__ = [
    "Audio",
    "Fault",
    "File",
    "Image",
    "Meta",
    "Option",
    "Parameter",
    "Tool",
    "ToolError",
    "ToolSettings",
    "Video",
    "tool",
    "unavailable",
]

_MODULES = {
    "Fault": "agentgauge.core.errors",
    "ToolError": "agentgauge.core.errors",
    "Parameter": "agentgauge.core.tools",
    "Meta": "agentgauge.core.tools",
    "Tool": "tool_impls.base",
    "unavailable": "tool_impls.base",
    "Option": "tool_impls.settings",
    "ToolSettings": "tool_impls.settings",
    **dict.fromkeys(("Audio", "File", "Image", "Video", "tool"), "tool_impls.functions"),
}
_OTHERWISE = {"Meta": "Tool", "Tool": "BenchTool"}
"""Public names that differ from the names in their module."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), _OTHERWISE.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
