"""The interface of detectors, which every back end implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agentgauge.core.errors import ToolUnavailable
from tool_impls.geometry import Box

if TYPE_CHECKING:
    from PIL.Image import Image

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A found object. ``score``: 0 to 1. ``number``: of its class, or of the searched name."""

    box: Box
    score: float
    label: str
    number: int


class Detector(Protocol):
    """A loaded model. Only one thread calls it at a time."""

    @property
    def classes(self) -> Names | None:
        """The only classes that it can find, in the order of their numbers; None if it accepts any words."""

    def detect_many(self, images: Sequence[Image], names: Sequence[Names | None], threshold: float) -> list[list[Hit]]:
        """The objects in each picture with at least that score, best first.

        ``names``: the names to look for in each picture; None for all classes that the detector has. A detector of
        fixed classes always looks for all of them. What is found in one picture does not depend on the others.
        """


def not_loaded(weights: Path | str, package: str, error: Exception) -> ToolUnavailable:
    """The sentence that says which weights a package cannot load, by base name, and why."""
    name = Path(weights).name if isinstance(weights, Path) else weights
    detail = " ".join(str(error).replace(str(weights), name).split())[:200] or type(error).__name__
    return ToolUnavailable(f"weights in [tools.detection]: {name} cannot be loaded by {package} ({detail})")
