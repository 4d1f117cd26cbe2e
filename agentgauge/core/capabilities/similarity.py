"""Comparing texts by a similarity backend."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Similarity(ABC):
    """Capability: ``score`` compares texts with a similarity backend, such as ``trigram`` or ``mpnet``."""

    @abstractmethod
    def default_similarity(self, *, official: bool) -> str:
        """The backend where none is configured. ``official``: the data is the user's."""

    @abstractmethod
    def check_similarity(self, similarity: str) -> None:
        """Raises UsageProblem where a backend is unknown or not installed. Cheap: nothing is loaded."""

    @abstractmethod
    def comparable(self, similarity: str) -> bool:
        """Whether scores with this backend are comparable with published ones."""

    def similarity_server(self, similarity: str) -> list[str]:
        """The command of a server that compares texts for all workers, so that no worker loads a model; it prints
        ``{"url": ...}`` when it is ready, and ``score`` is then given ``backend@url``. Empty for a backend that loads
        no model; with any other one ``score`` runs in a thread.
        """
        return []

    def similarity_device(self, similarity: str) -> str:
        """Where that server runs the model, in words for the head of a run; empty for a backend that loads no model."""
        return ""
