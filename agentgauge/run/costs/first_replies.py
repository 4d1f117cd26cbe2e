"""Attempts at a sample begin with the same request. The later ones wait until the first has a reply, because providers
put a prompt into their cache when they answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentgauge.store.jsonl import CaseId

PATIENCE = 10.0
"""Seconds that further attempts wait at most."""


class FirstReplies:
    """Which samples have been asked about and are not answered yet. Belongs to one event loop."""

    def __init__(self, *, active: bool) -> None:
        """``active``: whether samples have several attempts at a provider that may have a cache."""
        self._active = active
        self._awaited: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._answered: set[tuple[str, str]] = set()
        self.on_change: Callable[[], None] = lambda: None
        """Called when further cases may start."""

    def allow(self, case: CaseId) -> bool:
        """Whether a case may start: no other attempt at its sample waits for a first reply."""
        return case[:2] not in self._awaited

    def started(self, case: CaseId) -> None:
        sample = case[:2]
        if self._active and sample not in self._answered:
            loop = asyncio.get_running_loop()
            self._awaited[sample] = loop.call_later(PATIENCE, self.replied, *sample)

    def replied(self, task: str, sample: str) -> None:
        """A request about a sample has been answered, or its case has ended."""
        if timer := self._awaited.pop((task, sample), None):
            timer.cancel()
            self._answered.add((task, sample))
            self.on_change()
