"""The ``[tools]`` table of ``agentgauge.toml``: which tools are off, and the options of tools and of their back ends.

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

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from tool_impls.options import Option, as_table, read_table

TOP = (
    Option("basic", "bool", False, "allow the plain stand-ins of tools that would need a model"),
    Option("missing", "text", "refuse", "what to do with tools that cannot work", accepted=("refuse", "disable")),
    Option(
        "devices",
        "text",
        "auto",
        "where models run: cpu, cuda:0, or several with commas; auto is cuda:0 where there is one",
    ),
)


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What the ``[tools]`` table says. ``tables``: the values that are set, by the name of a tool or a back end."""

    basic: bool = False
    missing: str = "refuse"
    disable: frozenset[str] = frozenset()
    devices: str = "auto"
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    released: bool = True  # options that have a released value take it: --scoring=parity
    allow_unsafe: bool = (
        False  # run code without the minimum of protection; the command line's to say, never the file's
    )

    def value(self, table: str, option: Option) -> Any:
        """What an option of ``[tools.<table>]`` is set to, or its preset."""
        return self.tables.get(table, {}).get(option.name, option.preset(self.released))

    def values(self, table: str, options: tuple[Option, ...]) -> dict[str, Any]:
        return {option.name: self.value(table, option) for option in options}


def load(path: Path) -> ToolSettings:
    """Read the ``[tools]`` table of a TOML file; all defaults where it has none. Raises UsageProblem."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageProblem(f"the settings file {path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"the settings file {path} is not valid TOML: {error}") from None
    return parse(document.get("tools", {}), path.resolve().parent)


def parse(table: Any, base: Path) -> ToolSettings:
    """Settings from the decoded table. ``base``: where relative paths start. Raises UsageProblem naming what is
    accepted."""
    from tool_impls.registry import BACKENDS, TOOLS  # the tools import this module

    known = {**BACKENDS, **{name: kind.known_options() for name, kind in TOOLS.items()}}
    table = as_table(table, "tools", {**known, "disable": None, **{option.name: None for option in TOP}})
    top = read_table({option.name: table[option.name] for option in TOP if option.name in table}, "tools", TOP, base)
    tables = {
        name: read_table(table[name], f"tools.{name}", options, base)
        for name, options in known.items()
        if name in table
    }
    return ToolSettings(disable=_names(table.get("disable", []), frozenset(TOOLS)), tables=tables, **top)


def _names(value: Any, known: frozenset[str]) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageProblem(f"disable in [tools] must be a list of tool names; got {value!r}")
    if unknown := sorted(set(value) - known):
        raise UsageProblem(
            f"disable in [tools] names unknown tools: {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    return frozenset(value)
