"""Writes files that are complete or absent, and reports a failure in one sentence."""

from __future__ import annotations

from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.types import Json


def write_json(path: Path, value: Json) -> None:
    """Replace a file by a JSON value, in one step. Raises UsageProblem where it cannot be written."""
    _write(path, encoded(value, indent=1) + b"\n")


def write_text(path: Path, text: str) -> None:
    """Replace a file by a text (UTF-8; lone surrogates as ``?``), in one step. A link of that name is replaced."""
    _write(path, text.encode("utf-8", "replace"))


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written ({error.strerror}); give a place that can be") from None
