"""Files that are whole or not there, whenever the process ends."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from harness.errors import UsageProblem
from harness.types import Json


def write_json(path: Path, value: Json) -> None:
    """Replace a file by a JSON value, in one step. Raises UsageProblem where it cannot be written."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a file by a text (UTF-8; lone surrogates as ``?``), in one step. A link of that name is replaced, not followed."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:80]}-", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written ({error.strerror}); give a place that can be") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):  # it has become the file
                Path(temporary).unlink()
