"""The ``[tools]`` table of ``agentgauge.toml``: the options of tools and of their back ends, and how they are read.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentgauge.core.errors import UsageProblem

Kind = Literal["bool", "int", "float", "text", "path", "weights"]
NOUNS: Mapping[Kind, str] = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "text": "a string",
    "path": "a path as a string",
    "weights": "a path or a name as a string",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a table.

    ``default``: the value where the table has none; None means "not set". ``released``: another default for tools that
    should behave as the released ones (``ToolSettings.released``). ``least``: the smallest accepted number.
    ``accepted``: the accepted texts, all if empty. A path is made absolute from the settings file's folder; weights
    too, unless nothing is there. Then they become the path of fetched weights of that name, or stay a name on a hub.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    released: Any = None
    least: float | None = None
    accepted: tuple[str, ...] = ()

    def preset(self, released: bool) -> Any:
        return self.released if released and self.released is not None else self.default

    def read(self, value: Any, table: str, base: Path) -> Any:
        """The value as the tool gets it. Raises UsageProblem."""
        fits = {
            "bool": isinstance(value, bool),
            "int": isinstance(value, int) and not isinstance(value, bool),
            "float": isinstance(value, int | float) and not isinstance(value, bool),
        }.get(self.kind, isinstance(value, str) and value != "")
        if not fits:
            raise UsageProblem(f"{self.name} in [{table}] must be {NOUNS[self.kind]}; got {value!r}")
        if self.least is not None and value < self.least:
            raise UsageProblem(f"{self.name} in [{table}] must be at least {self.least:g}; got {value!r}")
        if self.accepted and value not in self.accepted:
            raise UsageProblem(f"{self.name} in [{table}] must be one of {', '.join(self.accepted)}; got {value!r}")
        if self.kind == "path" or (self.kind == "weights" and (base / value).exists()):
            return str(base / value)
        if self.kind == "weights":
            from tool_impls.published_weights import fetched

            return str(fetched(value, base) or value)
        return float(value) if self.kind == "float" else value


def read_table(value: Any, table: str, options: Sequence[Option], base: Path) -> dict[str, Any]:
    """The checked values that a table sets. Raises UsageProblem that names the accepted keys and values."""
    known = {option.name: option for option in options}
    checked = as_table(value, table, known)
    return {name: known[name].read(given, table, base) for name, given in checked.items()}


def as_table(value: Any, table: str, accepted: Mapping[str, object]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageProblem(f"[{table}] in the settings must be a table; got {value!r}")
    if old := [key for key in _OF_SERVE if key in value and key not in accepted]:
        raise UsageProblem(f"{old[0]} in [{table}] {NO_SERVE}")
    if unknown := ", ".join(sorted(set(value) - set(accepted))):
        known = ", ".join(sorted(accepted))
        raise UsageProblem(f"[{table}] in the settings does not know {unknown}; accepted are {known}")
    return value


TOP = (
    Option("basic", "bool", False, "allow the plain stand-ins of tools that would need a model"),
    Option("missing", "text", "refuse", "what to do with tools that cannot work", accepted=("refuse", "disable")),
    Option("devices", "text", "auto", "where models run: cpu, cuda:0, or several with commas"),
)

NO_SERVE = (
    "was for tools on Ray Serve, which are no more; leave it out, start `agentgauge serve-tools` on each machine, and"
    " name them all to one in front: `agentgauge serve-tools --replica URL --replica URL`"
)
_OF_SERVE = ("replicas", "cpus", "gpus")


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """The settings of the ``[tools]`` table. ``tables``: the given values, by the name of a tool or a back end."""

    basic: bool = False
    missing: str = "refuse"
    disable: frozenset[str] = frozenset()
    devices: str = "auto"
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    released: bool = True  # options that have a released value take it: --scoring=parity
    allow_unsafe: bool = False  # run code without the minimum of protection; only the command line can say so

    def value(self, table: str, option: Option) -> Any:
        """The value of an option of ``[tools.<table>]``, or its preset."""
        return self.tables.get(table, {}).get(option.name, option.preset(self.released))

    def values(self, table: str, options: tuple[Option, ...]) -> dict[str, Any]:
        return {option.name: self.value(table, option) for option in options}
