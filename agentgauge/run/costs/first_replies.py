"""Attempts at a sample begin with the same request, and the samples of a session with the same conversation. The later
ones wait until the first has a reply, because providers put a prompt into their cache when they answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentgauge.run.planned import Planned

PATIENCE = 10.0
"""Seconds that further cases wait at most."""

Group = tuple[str, str]


class FirstReplies:
    """Which groups of cases have been started and have no reply yet. Belongs to one event loop."""

    def __init__(self, attempts: int, *, active: bool) -> None:
        """``attempts`` at each sample. ``active``: whether the model is at a provider that may have a cache."""
        self._attempts = attempts
        self._active = active
        self._awaited: dict[Group, asyncio.TimerHandle] = {}
        self._first: dict[tuple[str, str], Group] = {}  # task and sample of an awaited reply
        self._answered: set[Group] = set()
        self.on_change: Callable[[], None] = lambda: None
        """Called when further cases may start."""

    def allow(self, case: Planned) -> bool:
        """Whether a case may start: no other of its group waits for a first reply."""
        return not self._awaited or _group(case) not in self._awaited

    def started(self, case: Planned) -> None:
        group = _group(case)
        alone = self._attempts == 1 and group[1] == case.row.id
        if self._active and not alone and group not in self._answered:
            self._awaited[group] = asyncio.get_running_loop().call_later(PATIENCE, self._release, group)
            self._first[case.task.name, case.row.id] = group

    def replied(self, task: str, sample: str) -> None:
        """A request of a case has been answered, or the case has ended."""
        if group := self._first.pop((task, sample), None):
            self._release(group)

    def _release(self, group: Group) -> None:
        if timer := self._awaited.pop(group, None):
            timer.cancel()
            self._answered.add(group)
            self.on_change()


def _group(case: Planned) -> Group:
    return case.task.name, case.task.data.group_of(case.row)
