"""Scores that a benchmark makes of several of its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class CombinedScores(ABC):
    """For each task of a benchmark whose tasks are combined to further scores."""

    @abstractmethod
    def combine(self, scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
        """What the benchmark makes of its tasks' first published columns: part → name → ``{"value", "missing"}``.

        ``scores`` has the tasks of this benchmark that were run. A score with missing tasks has no value.
        """
