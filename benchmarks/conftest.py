"""Figures of the benchmarks, shown together at the end of the run and kept with pytest-benchmark's own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture
def figure(request: pytest.FixtureRequest, benchmark: Any) -> Callable[[str, float], None]:
    """Note a figure under a name: ``figure("collection, toy / bare", 1.3)``."""

    def note(name: str, value: float) -> None:
        benchmark.extra_info[name] = value
        request.config.stash.setdefault(FIGURES, []).append(f"{name}: {value:.2f}")

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(FIGURES, []):
        terminalreporter.write_line(line)
