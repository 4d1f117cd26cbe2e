"""Published figures of other models, and whether a run may stand beside them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities.leaderboards import Leaderboard
from agentgauge.core.capabilities.own_options import Chosen


class PublishedRows(ABC):
    """Capability: the task has published figures."""

    published_dialects: tuple[str, ...]  # that they were made with; the first one made most of them

    @abstractmethod
    def published_rows(self) -> list[Mapping[str, Any]]:
        """{"edition", "model", column: value}."""

    def leaderboards(self) -> Sequence[Leaderboard]:
        """The benchmark's published tables as they were printed, for ``report --table``: the same ones from each of its
        tasks. Without any, reports make one of each edition of ``published_rows``."""
        return ()

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        """Reasons, besides those that hold for every task, why figures of a run with these options may not stand
        beside published ones."""
        return ()

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """Of the data's ``differences`` those for which figures may not stand beside published ones."""
        return ()
