"""Announces ``agentgauge view``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentgauge.core.registry import Registry


def pytest_agentgauge_commands() -> Mapping[str, Callable[[Sequence[str], Registry], int]]:
    return {"view": _view}


def _view(argv: Sequence[str], tasks: Registry) -> int:
    """Show a folder of runs in a browser, running ones live."""
    from agentgauge_reports.view.command import view

    return view(argv, tasks)
