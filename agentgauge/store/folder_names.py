"""Names of run folders, and of what lies in them."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from urllib.parse import quote

LONGEST = 200
"""Characters of an id that a file's name holds; file systems take names of 255 bytes."""


def new_folder(name: str) -> Path:
    """A folder below ``runs`` for what begins now, which does not exist yet."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    path, count = Path("runs") / stem, 1
    while path.exists():  # two runs within a second
        count += 1
        path = Path("runs") / f"{stem}-{count}"
    return path


def sample_name(sample: str) -> str:
    """A sample's id as part of a file's name, which no other id has: of a long one the beginning, and a digest."""
    name = quote(sample, safe="", errors="surrogatepass")  # the id of an own test may hold any byte of a file's name
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def file_name(model: str) -> str:
    """A model's name as part of a file's name; of a long one the beginning."""
    name = model.removeprefix("scripted:").rsplit(os.sep, 1)[-1]
    plain = "".join(c if c.isalnum() or c in "-._" else "-" for c in name)
    return plain.encode()[:LONGEST].decode(errors="ignore")
