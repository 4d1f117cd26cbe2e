"""Published figures of other models, and whether a run is comparable with them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any

from agentgauge.core.capabilities.leaderboards import Leaderboard
from agentgauge.core.capabilities.own_options import Chosen


class PublishedRows(ABC):
    """Capability: the task has published figures, as ``published_rows`` or as ``leaderboards``."""

    published_dialects: tuple[str, ...]  # that they were made with; the first one made most of them

    def published_rows(self) -> list[Mapping[str, Any]]:
        """Published rows: ``{"edition", "model", column: value}``. Reports make a table of each edition."""
        return []

    def leaderboards(self) -> Sequence[Leaderboard]:
        """The benchmark's published tables as they were printed; reports show these instead of ``published_rows``. Each
        task of the benchmark returns the same tables."""
        return ()

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        """Reasons why figures of a run with these options are not comparable with published ones, besides the reasons
        that apply to every task."""
        return ()

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """The ``differences`` of the data that make figures not comparable with published ones."""
        return ()
