"""Texts that a task sends, and that a folder of the user may replace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from agentgauge.core.capabilities.own_options import Chosen


class Prompts(ABC):
    """Capability: the task's wording has a version, so that records of two wordings are not mixed."""

    @abstractmethod
    def prompt_version(self, folder: Path | None) -> str:
        """Fingerprint of the texts that are sent; ``folder`` replaces some. Raises UsageProblem for unusable ones."""

    def prompt_note(self, version: str, chosen: Chosen) -> str:
        """What a reader of the figures must know of the wording with this version, one sentence; "": nothing."""
        return ""


def prompt_version(task: object, folder: Path | None) -> str:
    """Fingerprint of a task's texts; ``1`` for a task without this capability."""
    return task.prompt_version(folder) if isinstance(task, Prompts) else "1"
