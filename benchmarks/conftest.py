"""Figures of the benchmarks with their targets: shown together at the end of the run, and written with ``--figures
FILE``.

A figure that is a ratio and misses its target makes the run fail, after all else has been measured; one in seconds,
megabytes and the like only says so, since it may be the machine's doing.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Figure:
    module: str  # "test_throughput"
    name: str
    value: float
    unit: str  # "" for a ratio
    most: float | None
    least: float | None

    @property
    def target(self) -> str:
        return f"≤ {self.most:g}" if self.most is not None else f"≥ {self.least:g}" if self.least is not None else ""

    @property
    def met(self) -> bool:
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    @property
    def line(self) -> str:
        verdict = f" ({self.target}: {'met' if self.met else 'NOT MET'})" if self.target else ""
        return f"{self.name}: {self.value:.2f}{' ' + self.unit if self.unit else ''}{verdict}"


@dataclass
class Notes:
    """What a run has measured so far."""

    started: float = field(default_factory=time.time)
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    figures: list[Figure] = field(default_factory=list)


NOTES = pytest.StashKey[Notes]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--figures", metavar="FILE", help="write the figures as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[NOTES] = Notes()


@pytest.fixture
def figure(request: pytest.FixtureRequest, benchmark: Any) -> Callable[..., None]:
    """Note a figure under a name, with its target: ``figure("collection, toy / bare", 1.3, most=1.5)``."""

    def note(name: str, value: float, unit: str = "", *, most: float | None = None, least: float | None = None) -> None:
        benchmark.extra_info[name] = value
        request.config.stash[NOTES].figures.append(
            Figure(request.module.__name__.rsplit(".", 1)[-1], name, value, unit, most, least)
        )

    return note


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    notes = session.config.stash[NOTES]
    if session.config.option.figures:
        Path(session.config.option.figures).write_text(json.dumps(_written(notes), indent=1, ensure_ascii=False))
    if exitstatus == 0 and any(not figure.met and not figure.unit for figure in notes.figures):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash[NOTES].figures
    for figure in figures:
        terminalreporter.write_line(figure.line, red=not figure.met, bold=not figure.met)
    if missed := sum(not figure.met for figure in figures):
        targets = sum(bool(figure.target) for figure in figures)
        terminalreporter.write_line(f"NOT MET: {missed} of {targets} targets", red=True)


def _written(notes: Notes) -> dict[str, Any]:
    return {
        "machine": {
            "date": time.strftime("%Y-%m-%d", time.localtime(notes.started)),
            "cores": os.cpu_count(),
            "memory_gb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
            "load": notes.load,
            "system": platform.system(),
            "minutes": (time.time() - notes.started) / 60,
        },
        "versions": {"Python": platform.python_version()}
        | {name: version(name) for name in ("pytest", "pytest-xdist", "aiohttp", "openai")},
        "figures": [asdict(figure) | {"target": figure.target, "met": figure.met} for figure in notes.figures],
    }
