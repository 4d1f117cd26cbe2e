"""Names of new run folders."""

from __future__ import annotations

import os
import time
from pathlib import Path


def new_folder(name: str) -> Path:
    """A folder below ``runs`` for what begins now, which does not exist yet."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    path, count = Path("runs") / stem, 1
    while path.exists():  # two runs within a second
        count += 1
        path = Path("runs") / f"{stem}-{count}"
    return path


def file_name(model: str) -> str:
    """A model's name as part of a file's name."""
    name = model.removeprefix("scripted:").rsplit(os.sep, 1)[-1]
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name)
