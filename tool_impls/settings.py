"""The ``[tools]`` table of ``agentgauge.toml``: which tools are disabled, and the options of tools and of their back
ends.

    [tools]
    basic = true                      # allow the plain stand-ins for tools that would need a model
    missing = "disable"               # a tool that cannot work is switched off; by default the run is refused
    disable = ["TextToBbox"]          # offered, but every call is refused

    [tools.OCR]                       # options of one tool
    paragraphs = false

    [tools.vision]                    # options of a back end that several tools share: vision, image, detection, speech
    url = "http://127.0.0.1:8000/v1"
    model = "some-vision-model"

docs/tools.md has an example for each. Relative paths start from the settings file's folder. Keys never stand in the
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tool_impls.options import Option

TOP = (
    Option("basic", "bool", False, "allow the plain stand-ins of tools that would need a model"),
    Option("missing", "text", "refuse", "what to do with tools that cannot work", accepted=("refuse", "disable")),
    Option("devices", "text", "auto", "where models run: cpu, cuda:0, or several with commas"),
    Option("replicas", "range", None, "replicas on Ray Serve that the light tools share", least=1),
)


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The settings of the ``[tools]`` table. ``tables``: the given values, by the name of a tool or a back end."""

    basic: bool = False
    missing: str = "refuse"
    disable: frozenset[str] = frozenset()
    devices: str = "auto"
    replicas: tuple[int, int] | None = None
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    released: bool = True  # options that have a released value take it: --scoring=parity
    allow_unsafe: bool = False  # run code without the minimum of protection; only the command line can say so

    def value(self, table: str, option: Option) -> Any:
        """The value of an option of ``[tools.<table>]``, or its preset."""
        return self.tables.get(table, {}).get(option.name, option.preset(self.released))

    def values(self, table: str, options: tuple[Option, ...]) -> dict[str, Any]:
        return {option.name: self.value(table, option) for option in options}
