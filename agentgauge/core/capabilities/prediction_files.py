"""Files of predictions in the original benchmark's layouts: read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.types import Scoring

Exporter = Callable[..., list[str]]
"""``(results, folder, *, model, scoring)``: writes predictions below ``folder``, and returns notes for a reader of the
files, one sentence each.

``results``: tuples of a sample, its prediction with the paths of this machine, and the folder of the files that were
made for it.
"""


class PredictionFiles(ABC):
    """Capability: ``agentgauge score`` reads the original's prediction files, ``report --format`` writes them."""

    samples_needed = True  # beside predictions, to score these; False: predictions hold what is needed

    @abstractmethod
    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """Score the original benchmark's own files: {"metrics": {name: value}, "samples": [...]}."""

    @abstractmethod
    def exporters(self) -> Mapping[str, Exporter]:
        """The functions that write a run in the original's layouts, by the layout's name."""
