"""What the evaluator knows of the fourteen tools: their categories, and which of them draw (GTA spec 2 and 5.6)."""

from __future__ import annotations

from collections.abc import Mapping

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "perception": ("OCR", "ImageDescription", "RegionAttributeDescription", "TextToBbox"),
    "operation": ("DrawBox", "AddText", "GoogleSearch"),
    "logic": ("Calculator", "Solver", "Plot", "MathOCR", "CountGivenObject"),
    "creativity": ("TextToImage", "ImageStylization"),
}

CATEGORY_OF: Mapping[str, str] = {tool: category for category, tools in CATEGORIES.items() for tool in tools}
"""Other names, such as NoAction, have no category."""

DRAWING: frozenset[str] = frozenset({"DrawBox", "AddText", "Plot", "TextToImage", "ImageStylization"})
"""Tools whose calls are compared for queries that are answered by a picture."""
