"""Rows of a run with ``--limit`` say so, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def limit_of(summary: Mapping[str, Any], tasks: Iterable[str] | None = None) -> str:
    """``--limit=16``, if the figures of these tasks, by default of all, are of a part of the samples that ``--limit``
    chose. Else empty."""
    run = summary["run"]
    if not (limit := run.get("limit")):  # runs of earlier versions do not have it
        return ""
    parts = {name: part for name, part in summary["tasks"].items() if tasks is None or name in tasks}
    is_part = any(
        part["planned"] + part.get("not_applicable", {}).get("cases", 0) < run["data"][name]["samples"]
        for name, part in parts.items()
    )
    return f"--limit={limit}" if is_part else ""


def named(name: str, limit: str) -> str:
    """A row's name, with the limit behind it. ``limit``: of ``limit_of``."""
    return f"{name} ({limit})" if limit else name
