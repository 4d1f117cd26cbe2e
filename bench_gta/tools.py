"""The tools' categories, which of GTA-Atomic's tools draw, and the real tools
(docs/benchmarks/tools.md#tools-of-gta-atomic and docs/benchmarks/gta_atomic.md#tool-selection,
docs/benchmarks/gta_workflow.md#category-figures).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tool_impls.real_tools import LocalTools

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "perception": ("OCR", "ImageDescription", "RegionAttributeDescription", "TextToBbox"),
    "operation": ("DrawBox", "AddText", "GoogleSearch"),
    "logic": ("Calculator", "Solver", "Plot", "MathOCR", "CountGivenObject"),
    "creativity": ("TextToImage", "ImageStylization"),
}

"""The fourteen that GTA-Atomic's evaluator knows. It gives no other name a category, so that they stay apart from
the 24 below."""

CATEGORY_OF: Mapping[str, str] = {tool: category for category, tools in CATEGORIES.items() for tool in tools}
"""Other names, such as NoAction, have no category."""

_ADDED: Mapping[str, str] = {
    "perception": "ImageQualityTest SoundCharacteristicExtraction VideoDescription VideoObjectDetection VideoOCR"
    " SpeechToText",
    "operation": "CsvFileGenerator DocxFileGenerator PdfFileGenerator PptxFileGenerator XlsxFileGenerator"
    " HtmlFileGenerator ReadCSV ReadDOCX ReadPDF ReadPPTX ReadXLSX AudioClipTool NoiseReduction PitchShifting VideoClip"
    " AddTextVideoTool",
    "logic": "Prover",
    "creativity": "TextToVideoTool",
}

WORKFLOW_CATEGORIES: Mapping[str, tuple[str, ...]] = {
    category: (*tools, *_ADDED[category].split()) for category, tools in CATEGORIES.items()
}
"""All 38 tools of both benchmarks by category; GTA-Workflow offers 37 of them, all but TextToBbox."""

WORKFLOW_CATEGORY_OF: Mapping[str, str] = {
    tool: category for category, tools in WORKFLOW_CATEGORIES.items() for tool in tools
}

DRAWING: frozenset[str] = frozenset({"DrawBox", "AddText", "Plot", "TextToImage", "ImageStylization"})
"""Tools whose calls are compared for queries that are answered by a picture."""


GtaTools = partial(LocalTools, default_settings=Path(__file__).with_name("default_tools.toml"))
"""The real tools with the settings of GTA. ``GtaTools(tools_of)``"""
