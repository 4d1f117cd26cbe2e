"""The tests that were selected, of which plugins choose (``pytest_agentgauge_choose``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgauge.run.hooks import ask_installed
from agentgauge.run.planned import Planned
from agentgauge.run.settings import Settings


@dataclass
class Candidates:
    """Tests of a run, in the same order on every machine."""

    settings: Settings
    cases: Sequence[Planned | None]  # None: an ordinary test
    tasks: Sequence[str]  # the names of those of the cases, in the order in which the run has them
    is_planned: bool = False  # the cases are those of an earlier run's plan, which this one keeps
    kept: set[int] = field(init=False)  # the positions of those that this run has: at first, all
    files: dict[str, Any] = field(default_factory=dict)  # of JSON, for the run folder, where this run has no case, too

    def __post_init__(self) -> None:
        self.kept = {*range(len(self.cases))}


def choose(candidates: Candidates) -> Candidates:
    """Let the plugins choose. Raises what they raise."""
    ask_installed("pytest_agentgauge_choose", candidates=candidates)
    return candidates
