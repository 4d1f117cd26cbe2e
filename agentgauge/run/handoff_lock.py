"""Two threads of one interpreter take turns: pytest's, case by case, and the look-ahead's loop, when something has
happened.

Left to themselves both run at once and take the interpreter from each other at every system call. So the loop has the
floor except while it waits for news, and pytest takes it for one case after another. It is a courtesy and no lock: who
has waited long enough goes ahead all the same, so that no fixture that sleeps holds up requests, and no busy loop holds
up pytest.
"""

from __future__ import annotations

import selectors
import threading

PATIENCE = 0.05
"""Seconds that pytest waits, case by case: it can be behind, but requests that are held up cost time."""

HASTE = 0.005
"""Seconds that the loop waits."""


class Floor:
    """Whose turn it is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None  # the thread that has it
        self._overdue = False  # who has it has had it too long

    def take(self, *, hurried: bool = False) -> bool:
        """Whether the floor was free in time. ``hurried``: wait only ``HASTE``, and not a second time for somebody
        who has it still."""
        if self._lock.acquire(timeout=PATIENCE if not hurried else 0 if self._overdue else HASTE):
            self._holder = threading.get_ident()
            return True
        self._overdue = hurried
        return False

    def leave(self) -> None:
        """Nothing happens where this thread has not got it."""
        if self._holder == threading.get_ident():
            self._holder, self._overdue = None, False
            self._lock.release()


class TurnTaking(selectors.DefaultSelector):
    """The selector of a loop that leaves the floor while it waits."""

    def __init__(self, floor: Floor) -> None:
        super().__init__()
        self._floor = floor

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:  # there is more to do
            return super().select(timeout)
        self._floor.leave()
        try:
            return super().select(timeout)
        finally:
            self._floor.take(hurried=True)
