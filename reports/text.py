"""Text in lines that fit."""

from __future__ import annotations

from textwrap import wrap

WIDTH = 80
"""Of a terminal that does not say."""


def fill(indent: str, text: str, width: int = WIDTH, *, hanging: str = "") -> list[str]:
    """``text`` in lines of at most ``width`` characters; only a longer word overhangs. Further lines have
    ``hanging`` more indent."""
    lines = wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [indent.rstrip()]
