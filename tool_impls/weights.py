"""Where a model's weights come from, and what identifies them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tool_impls.base import READY, unavailable
from tool_impls.options import Option
from tool_impls.settings import ToolSettings

ALLOW_DOWNLOAD = Option(
    "allow_download", "bool", False, "let weights be a name on the model hub, fetched at the first need"
)
CHUNK = 2**20  # bytes


def weights_option(example: str) -> Option:
    return Option(
        "weights", "weights", None, f"a local folder or file, or with allow_download a name such as {example}"
    )


def resolve(settings: ToolSettings, table: str, given: str | None) -> Path | str | None:
    """What to load: an existing path, a name on the hub where downloads are allowed, None where neither is there.

    A local path comes first, so nothing is fetched in its place.
    """
    if given is None:
        return None
    if Path(given).exists():
        return Path(given)
    return given if settings.value(table, ALLOW_DOWNLOAD) else None


def weights_state(settings: ToolSettings, table: str, given: str | None, default: str, size: str) -> str:
    """READY, or what to set. ``default`` and ``size``: a model that works, and what it takes on disk (``about 5
    GB``)."""
    if resolve(settings, table, given) is not None:
        return READY
    if given is None:
        return unavailable(
            f"name its weights in [tools.{table}]: a local folder, or {default} ({size}) with allow_download = true"
        )
    return unavailable(
        f"weights in [tools.{table}] names nothing that exists: {given}; to fetch that name from the hub set"
        " allow_download = true"
    )


def digest(paths: Iterable[Path]) -> str | None:
    """SHA-256 over the names and contents of files and folders, shortened to 16 hex digits; None for no path."""
    found = sorted(paths)
    if not found:
        return None
    summary = hashlib.sha256()
    for path in found:
        for file in [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file()):
            summary.update(f"{file.relative_to(path.parent)}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as stream:
                while chunk := stream.read(CHUNK):
                    summary.update(chunk)
    return summary.hexdigest()[:16]
