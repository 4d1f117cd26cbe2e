"""A comparison in each of its forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.comparison.compare import compare
from reports.comparison.page import page
from reports.comparison.shown import shown
from reports.comparison.text import markdown, text

FORMATS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "text": text,
    "json": lambda data: json.dumps(data, indent=2, ensure_ascii=False),
    "markdown": markdown,
    "html": page,
}


def comparison(runs: Sequence[Path], format: str, base: Path) -> str:
    """Compare runs with the first of them. ``format``: one of FORMATS. ``base``: the folder that links start from.

    Raises UsageProblem as ``compare`` does.
    """
    return FORMATS[format](shown(compare(runs), base))
