"""Every tool that the server can offer, in the order of GTA's list. A family of tools adds its classes here."""

from __future__ import annotations

from collections.abc import Mapping

from tool_impls.base import BenchTool
from tool_impls.code import Calculator, Plot, Solver
from tool_impls.describe import CountGivenObject, ImageDescription, MathOCR, RegionAttributeDescription, TextToBbox
from tool_impls.drawing import AddText, DrawBox
from tool_impls.generate import ImageStylization, TextToImage
from tool_impls.ocr import OCR
from tool_impls.search import GoogleSearch

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

TOOLS: Mapping[str, type[BenchTool]] = {kind.meta.name: kind for kind in GTA_ATOMIC}
