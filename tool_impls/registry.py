"""Every tool that the server can offer, and the back ends that several of them share."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from tool_impls import documents
from tool_impls.audio import speech
from tool_impls.audio import tools as audio
from tool_impls.base import BenchTool
from tool_impls.creativity import generate
from tool_impls.creativity.generate import ImageStylization, TextToImage
from tool_impls.devices import DEVICE
from tool_impls.installed import installed_tools
from tool_impls.logic.code_tools import Calculator, Plot, Solver
from tool_impls.logic.prover import Prover
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.operation.search import GoogleSearch
from tool_impls.options import Option
from tool_impls.perception import describe, vision
from tool_impls.perception.detection import finder
from tool_impls.perception.detection.tools import CountGivenObject, TextToBbox, VideoObjectDetection
from tool_impls.perception.mathocr import MathOCR
from tool_impls.perception.ocr import OCR
from tool_impls.video import tools as video

GTA_ATOMIC: tuple[type[BenchTool], ...] = (
    OCR,
    describe.ImageDescription,
    describe.RegionAttributeDescription,
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
    describe.VideoDescription,
    VideoObjectDetection,
    Prover,
)
"""The 24 tools that GTA-Workflow adds; of the others it lacks TextToBbox (GTA tools spec 1)."""

OURS: Mapping[str, type[BenchTool]] = {kind.meta.name: kind for kind in (*GTA_ATOMIC, *GTA_WORKFLOW)}

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
