"""Texts cut to what a cell of a table shows."""

from __future__ import annotations

WORDS = 160
"""Characters of a question or a verdict that the list of cases shows."""


def one_line(text: str) -> str:
    """The lines of a text, joined."""
    return " · ".join(words for line in text.splitlines() if (words := " ".join(line.split())))


def clipped(text: str, most: int = WORDS) -> str:
    """The first line, in ``most`` characters."""
    line = text[: 4 * most].strip().split("\n", 1)[0]
    return line if len(line) <= most else line[: most - 1] + "…"
