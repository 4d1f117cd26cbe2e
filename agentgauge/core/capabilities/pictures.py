"""Cases that show pictures to a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Pictures(ABC):
    """Capability: some cases show pictures to a model. A model that sees none does not get these cases."""

    without_pictures: frozenset[str] = frozenset()  # the columns whose figures need none of these cases

    @abstractmethod
    def shown_to(self, tags: Sequence[str]) -> str | None:
        """The role whose model is shown the pictures of a case with these keywords: empty for the tested model, else
        the option that names the role's model. None for a case without pictures."""
