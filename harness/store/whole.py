"""Files that are whole or not there, whenever the process ends."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from harness.redaction import dumps
from harness.types import Json

_LINE = json.JSONEncoder(ensure_ascii=False)  # json.dumps would make one for each value


def encoded(value: Json, *, indent: int | None = None) -> bytes:
    """JSON in UTF-8, without secrets. Half a surrogate pair, which a model may write, is no UTF-8: it stays an escape."""
    text = dumps(value, _LINE if indent is None else json.JSONEncoder(ensure_ascii=False, indent=indent))
    return text.encode("utf-8", "backslashreplace")


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file in one step. A link of that name is replaced, not followed. Raises OSError."""
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name[:80]}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # it has become the file
            Path(scratch).unlink()
