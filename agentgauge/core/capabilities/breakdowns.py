"""Tables of further figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agentgauge.core.breakdown import Breakdown
from agentgauge.core.types import Score, Scoring


class Breakdowns(ABC):
    """For a task with tables beyond its published one."""

    @abstractmethod
    def breakdowns(self, scores: Sequence[Score], scoring: Scoring) -> Sequence[Breakdown]:
        """Tables for the page and for ``report --table``. ``scores``: one per sample, the attempts averaged."""
