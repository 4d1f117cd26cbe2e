"""Every tool that the server can offer, and the back ends that several of them share. A family adds its classes
here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from tool_impls import documents
from tool_impls.audio import speech
from tool_impls.audio.tools import TOOLS as AUDIO_TOOLS
from tool_impls.base import BenchTool
from tool_impls.creativity import generate
from tool_impls.creativity.generate import ImageStylization, TextToImage
from tool_impls.logic import prover
from tool_impls.logic.code import Calculator, Plot, Solver
from tool_impls.operation.drawing import AddText, DrawBox
from tool_impls.operation.search import GoogleSearch
from tool_impls.options import Option
from tool_impls.perception import describe, detection, vision
from tool_impls.perception.describe import ImageDescription, RegionAttributeDescription
from tool_impls.perception.detection import CountGivenObject, TextToBbox, VideoObjectDetection
from tool_impls.perception.mathocr import MathOCR
from tool_impls.perception.ocr import OCR
from tool_impls.video.tools import TOOLS as VIDEO_TOOLS

GTA_ATOMIC: tuple[type[BenchTool], ...] = (
    OCR,
    ImageDescription,
    RegionAttributeDescription,
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
    *AUDIO_TOOLS,
    *speech.TOOLS,
    *VIDEO_TOOLS,
    *describe.VIDEO_TOOLS,
    VideoObjectDetection,
    *prover.TOOLS,
)
"""The 24 tools that GTA-Workflow adds; of the others it lacks TextToBbox (GTA tools spec 1)."""

TOOLS: dict[str, type[BenchTool]] = {kind.meta.name: kind for kind in (*GTA_ATOMIC, *GTA_WORKFLOW)}

BACKENDS: Mapping[str, tuple[Option, ...]] = {
    vision.TABLE: vision.OPTIONS,
    generate.TABLE: generate.OPTIONS,
    detection.TABLE: detection.OPTIONS,
    speech.TABLE: speech.OPTIONS,
}


def add(path: Path) -> None:
    """Offer the tools of a Python file too: every subclass of BenchTool that it defines. Same names replace ours.
    Raises UsageProblem."""
    spec = spec_from_file_location(f"agentgauge_extra_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageProblem(f"--extra names no Python file: {path}")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # data classes look themselves up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's own code
        raise UsageProblem(f"--extra {path} cannot be loaded: {error!r}") from error
    kinds = [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, BenchTool) and hasattr(kind, "meta")
    ]
    if not kinds:
        raise UsageProblem(
            f"--extra {path} defines no tool: a subclass of tool_impls.base.BenchTool with meta, category and apply"
        )
    TOOLS.update({kind.meta.name: kind for kind in kinds if kind.__module__ == module.__name__})
