"""Cases that a report could not show: each is replaced by the reason, and the report counts them."""

from __future__ import annotations

from agentgauge.core.files import is_disk_full


class Unshown:
    """Collects the cases that one report could not show. ``problems``: lines of the run that could not be read, a
    sentence each. ``notes``: other notes about the report."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._cases: list[str] = []  # names
        self._first = ""  # why the first of them is not shown

    def add(self, name: str, error: Exception) -> str:
        """Add a case that could not be shown. Returns the text that replaces it.

        Raises the error if it means that the disk is full.
        """
        if is_disk_full(error):
            raise error
        why = f"{type(error).__name__}: {error}"[:200]
        self._first = self._first or why
        self._cases.append(name)
        return f"This case cannot be shown here ({why}); its record is in records.jsonl."

    def sentences(self, where: str) -> list[str]:
        """Sentences for the user; none if all cases are shown."""
        if not self._cases:
            return [*self.problems, *self.notes]
        cases = "1 case" if len(self._cases) == 1 else f"{len(self._cases)} cases"
        first = f"{self._cases[0]} ({self._first})"
        return [*self.problems, *self.notes, f"{cases} cannot be shown in {where}, the first of them {first}"]
