"""Cleans and measures the text of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentgauge.core.errors import ToolError

UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold: control characters, lone surrogates and two non-characters."""

LONGEST = 2_000_000  # characters of one document to write; about a thousand pages


def clean(text: str) -> str:
    """The text with line ends as ``\\n`` and without the signs that no document can hold."""
    return UNFIT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def columns(text: str) -> int:
    """The width of a text in half-width signs: Chinese ones and their like take two."""
    return len(text) + len(re.findall("[\u2e80-\U0010ffff]", text))


def check_length(name: str, text: str) -> None:
    """Raises ToolError for more than LONGEST characters."""
    if len(text) > LONGEST:
        raise ToolError(f"{name} has {len(text):,} characters; at most {LONGEST:,} fit in one document, so split it")


def paragraphs(text: str) -> list[str]:
    """The stretches between empty lines, without the empty ones (GTA tools spec 5.1, plain mode)."""
    return [part.strip("\n") for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def gathered(lines: Iterable[str], limit: int) -> str:
    """The lines joined by newlines, cut at ``limit`` characters with a note. Takes no more lines than it needs."""
    kept: list[str] = []
    length = 0
    for line in lines:
        kept.append(line)
        length += len(line) + 1
        if length - 1 > limit:
            return f"{chr(10).join(kept)[:limit]}\n[cut here: only the first {limit:,} characters are shown]"
    return "\n".join(kept)
