"""Every tool that the server can offer, those of other packages too, and the settings that are read for them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Container, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from agentgauge.core.announcement import announced, package_of, refused
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_toml
from tool_impls import documents
from tool_impls.audio import speech
from tool_impls.audio import tools as audio
from tool_impls.base import BenchTool
from tool_impls.creativity import generate
from tool_impls.creativity.generate import ImageStylization, TextToImage
from tool_impls.devices import DEVICE, check_names
from tool_impls.logic.code_tools import Calculator, Plot, Solver
from tool_impls.logic.prover import Prover
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.operation.search import GoogleSearch
from tool_impls.perception import vision
from tool_impls.perception.detection import finder
from tool_impls.perception.detection.tools import CountGivenObject, TextToBbox, VideoObjectDetection
from tool_impls.perception.mathocr import MathOCR
from tool_impls.perception.ocr import OCR
from tool_impls.settings import TOP, Option, ToolSettings, as_table, read_table
from tool_impls.video import tools as video

GTA_ATOMIC: tuple[type[BenchTool], ...] = (
    OCR,
    vision.ImageDescription,
    vision.RegionAttributeDescription,
    TextToBbox,
    DrawBox,
    AddText,
    GoogleSearch,
    Calculator,
    Plot,
    Solver,
    MathOCR,
    CountGivenObject,
    TextToImage,
    ImageStylization,
)

GTA_WORKFLOW: tuple[type[BenchTool], ...] = (
    *documents.TOOLS,
    *audio.TOOLS,
    speech.SpeechToText,
    *video.TOOLS,
    vision.VideoDescription,
    VideoObjectDetection,
    Prover,
)
"""The 24 tools that GTA-Workflow adds; of the others it lacks TextToBbox (docs/benchmarks/tools.md#the-lists)."""

OURS: Mapping[str, type[BenchTool]] = {kind.meta.name: kind for kind in (*GTA_ATOMIC, *GTA_WORKFLOW)}


# -- tools of other packages


def installed_tools(taken: Container[str]) -> dict[str, type[BenchTool]]:
    """Tools of other packages by name. A tool with a ``taken`` name is left out, with a warning.

    Raises UsageProblem for a package that cannot be imported, and for what is no tool."""
    found: dict[str, type[BenchTool]] = {}
    for plugin, kind in announced("tools"):
        if not isinstance(kind, type) or not issubclass(kind, BenchTool):
            accepted = "a function below @tool, or a class that inherits Tool, of agentgauge.tools"
            raise refused(plugin, "tools", f"names {kind!r:.200}; accepted is {accepted}")
        if lacking := [name for name in ("meta", "category") if not hasattr(kind, name)]:
            raise refused(plugin, "tools", f"names {kind.__name__}, which lacks {', '.join(lacking)}; add it")
        kind.distribution = plugin.dist.name if plugin.dist else package_of(plugin)
        name = kind.meta.name
        if name in taken or name in found:
            warnings.warn(
                f"the tool {name} of {kind.distribution} is left out: there is one of that name", stacklevel=2
            )
            continue
        found[name] = kind
    return found


# -- all tools, and the back ends that several of them share

TOOLS: dict[str, type[BenchTool]] = {**OURS, **installed_tools(OURS)}
"""Ours, and those of other packages that are installed."""

BACKENDS: Mapping[str, tuple[Option, ...]] = {
    vision.TABLE: (*vision.OPTIONS, DEVICE),
    generate.TABLE: (*generate.OPTIONS, DEVICE),
    finder.TABLE: (*finder.OPTIONS, DEVICE),
    speech.TABLE: (*speech.OPTIONS, DEVICE),
}


def add(path: Path) -> None:
    """Offer the tools of a Python file, too; a tool with the name of one of ours replaces it. Raises UsageProblem."""
    spec = spec_from_file_location(f"agentgauge_extra_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageProblem(f"--extra names no Python file: {path}")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # data classes look themselves up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code
        raise UsageProblem(f"--extra {path} cannot be loaded: {error!r}") from error
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, BenchTool)]
    kinds = [kind for kind in classes if hasattr(kind, "meta")]
    if not kinds:
        advice = "a subclass of tool_impls.base.BenchTool with meta, category and apply"
        raise UsageProblem(f"--extra {path} defines no tool: {advice}")
    TOOLS.update({kind.meta.name: kind for kind in kinds if kind.__module__ == module.__name__})


# -- settings


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
    known = {**BACKENDS, **{name: kind.known_options() for name, kind in TOOLS.items()}}
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
