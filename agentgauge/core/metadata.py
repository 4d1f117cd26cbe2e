"""What Python's package metadata says of AgentGauge: its version, and what it announces by entry points.

A checkout that is not installed has no metadata. There both come from its ``pyproject.toml``, which an installation
makes the metadata of.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

NAME = "agentgauge"
_PROJECT_FILE = Path(__file__).parents[2] / "pyproject.toml"


def own_version() -> str:
    """A checkout that is not installed has the version that setuptools-scm falls back to where it finds no tag.

    Raises PackageNotFoundError outside of both.
    """
    try:
        return version(NAME)
    except PackageNotFoundError:
        if not (project := _checkout()):
            raise
        return str(project["tool"]["setuptools_scm"]["fallback_version"])


def announced(group: str) -> list[EntryPoint]:
    """The entry points of a group: of all installed packages, and of AgentGauge where it is not installed."""
    found = list(entry_points(group=group))
    try:
        version(NAME)
    except PackageNotFoundError:
        own = _checkout().get("project", {}).get("entry-points", {}).get(group, {})
        found += [EntryPoint(name, value, group) for name, value in own.items()]
    return found


@cache
def _checkout() -> dict[str, Any]:
    """The ``pyproject.toml`` of the checkout that this file lies in; empty elsewhere."""
    if not _PROJECT_FILE.is_file():
        return {}
    content = tomllib.loads(_PROJECT_FILE.read_text("utf-8"))
    return content if content.get("project", {}).get("name") == NAME else {}
