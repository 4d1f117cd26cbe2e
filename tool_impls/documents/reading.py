"""The base class of tools that read documents (GTA tools spec 5.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tool_impls import base
from tool_impls.documents.words import gathered
from tool_impls.settings import Option

LIMIT = Option("limit", "int", 100_000, "characters of the answer; a longer text is cut, with a note", least=1)


class ReadingTool(base.BenchTool):
    """Shows the text of a document, cut to a length."""

    category = "operation"
    confined = True
    pure = True
    options: ClassVar[tuple[Option, ...]] = (LIMIT,)
    concurrency = 2
    seconds = 120.0

    def shown(self, lines: Iterable[str]) -> str:
        return gathered(lines, self.option("limit"))
