"""Tools that make, cut, label and read videos."""

from __future__ import annotations

from tool_impls.base import BenchTool

TOOLS: tuple[type[BenchTool], ...] = ()
