"""The source of a model's weights, and their identity."""

from __future__ import annotations

from pathlib import Path

from tool_impls.base import READY, unavailable
from tool_impls.options import Option
from tool_impls.settings import ToolSettings

ALLOW_DOWNLOAD = Option("allow_download", "bool", False, "let weights be a name on the hub, fetched at the first need")


def weights_option(example: str) -> Option:
    return Option("weights", "weights", None, f"a folder or file, or with allow_download a name such as {example}")


def resolve(settings: ToolSettings, table: str, given: str | None) -> Path | str | None:
    """The weights to load: an existing path, or a name on the hub if downloads are allowed; None without either.

    A local path comes first, so nothing is fetched in its place.
    """
    if given is None:
        return None
    if Path(given).exists():
        return Path(given)
    return given if settings.value(table, ALLOW_DOWNLOAD) else None


def weights_state(settings: ToolSettings, table: str, given: str | None, default: str, size: str) -> str:
    """READY, or what to set. ``default`` and ``size``: a model that works, and what it takes on disk."""
    if resolve(settings, table, given) is not None:
        return READY
    if given is None:
        ways = f"a local folder, or {default} ({size}) with allow_download = true"
        return unavailable(f"name its weights in [tools.{table}]: {ways}")
    advice = "to fetch that name from the hub set allow_download = true"
    return unavailable(f"weights in [tools.{table}] names nothing that exists: {given}; {advice}")


def local(source: Path | str | None) -> tuple[Path, ...]:
    """The weights of a resolved source that lie on this machine."""
    return (source,) if isinstance(source, Path) else ()


def name_of(source: Path | str | None, given: str | None) -> str:
    """The name of the weights in reports: the base name of a local path, else the name on the hub."""
    return source.name if isinstance(source, Path) else given or ""
