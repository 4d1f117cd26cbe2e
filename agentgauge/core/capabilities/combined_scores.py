"""Scores that a benchmark makes of several of its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class CombinedScores(ABC):
    """Capability of each task of a benchmark: further scores are computed from several of its tasks."""

    combined_headline: str = ""  # what reports call the last of these scores, the headline figure; "": its own name

    @abstractmethod
    def combine(self, scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
        """Scores computed from the tasks' first published columns: part → name → ``{"value", "missing"}``.

        ``scores`` has the tasks of this benchmark that were run. A score with missing tasks has no value.
        """
