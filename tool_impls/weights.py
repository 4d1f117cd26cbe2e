"""The source of a model's weights, and their identity."""

from __future__ import annotations

from pathlib import Path

from tool_impls.base import READY, unavailable
from tool_impls.options import Option
from tool_impls.settings import ToolSettings

ALLOW_DOWNLOAD = Option("allow_download", "bool", False, "let weights be a name on the hub, fetched at the first need")


def weights_option(example: str) -> Option:
    fetched = "a name of `agentgauge fetch tools`"
    return Option(
        "weights", "weights", None, f"a folder or file, {fetched}, or with allow_download a name such as {example}"
    )


def resolve(settings: ToolSettings, table: str, given: str | None) -> Path | str | None:
    """The weights to load: an existing path, or a name on the hub if downloads are allowed; None without either.

    A local path comes first, so nothing is fetched in its place.
    """
    if given is None:
        return None
    if Path(given).exists():
        return Path(given)
    if not settings.value(table, ALLOW_DOWNLOAD):
        return None
    from tool_impls.published_weights import known

    return one.published if (one := known(given)) else given


def weights_state(settings: ToolSettings, table: str, given: str | None, default: str, size: str) -> str:
    """READY, or what to set. ``default`` and ``size``: a model that works, and what it takes on disk."""
    if resolve(settings, table, given) is not None:
        return READY
    if given is None:
        return unavailable(f"name its weights in [tools.{table}]: a local folder, or {to_fetch(default, size)}")
    return not_there(table, "weights", given)


def to_fetch(published: str, size: str) -> str:
    """How to get published weights, named by their name at the origin."""
    from tool_impls.published_weights import known

    one = known(published)
    assert one is not None, "a test compares what is suggested with what is known"
    return f"{one.name} ({size}), which `agentgauge fetch {one.name}` brings"


def not_there(table: str, option: str, given: str) -> str:
    """The state of a tool whose weights are neither a path nor fetched."""
    from tool_impls.published_weights import known

    advice = "to fetch that name from the hub set allow_download = true"
    if one := known(given):
        advice = f"get it with: agentgauge fetch {one.name}"
    return unavailable(f"{option} in [tools.{table}] names nothing that exists: {given}; {advice}")


def local(source: Path | str | None) -> tuple[Path, ...]:
    """The weights of a resolved source that lie on this machine."""
    return (source,) if isinstance(source, Path) else ()


def name_of(source: Path | str | None, given: str | None) -> str:
    """The name of the weights in reports: the base name of a local path, else the name on the hub."""
    return source.name if isinstance(source, Path) else source or given or ""
