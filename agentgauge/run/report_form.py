"""A form of ``agentgauge report`` (``pytest_agentgauge_reports``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ReportForm:
    name: str  # "--allure" is an option; "csv", without dashes, is one of what ``--format`` takes
    metavar: str  # what stands for the place to write to: DIR or FILE
    help: str
    usual: str  # the place in the folder of the run, where an option names none; empty if it must name one
    write: Callable[..., str]
    """Called with the folder of the run, the place, ``tasks``, all that are known, and ``omitted``, which notes what
    cannot be shown. Returns what the command says. Raises UsageProblem."""

    @property
    def is_option(self) -> bool:
        return self.name.startswith("--")

    @property
    def key(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")
