"""Attempts at a sample begin with the same request, and the samples of a session with the same conversation. The later
ones wait until the first has a reply, because providers put a prompt into their cache when they answer it."""

from __future__ import annotations

import asyncio

from agentgauge.core.chat import CaseKey
from agentgauge.core.types import Usage
from agentgauge.run.part import Part, Process
from agentgauge.run.planned import Planned

PATIENCE = 10.0
"""Seconds that further cases wait at most."""

Group = tuple[str, str]


class FirstReplies(Part):
    """Which groups of cases have been started and have no reply yet."""

    def __init__(self, process: Process) -> None:
        self._attempts = process.settings.attempts
        self._recheck = process.recheck
        self._awaited: dict[Group, asyncio.TimerHandle] = {}
        self._first: dict[tuple[str, str], Group] = {}  # task and sample of an awaited reply
        self._answered: set[Group] = set()

    def is_ready(self, case: Planned) -> bool:
        """Whether no other of its group waits for a first reply."""
        return not self._awaited or _group(case) not in self._awaited

    def started(self, case: Planned) -> None:
        group = _group(case)
        alone = self._attempts == 1 and group[1] == case.row.id
        if not alone and group not in self._answered:
            self._awaited[group] = asyncio.get_running_loop().call_later(PATIENCE, self._release, group)
            self._first[case.task.name, case.row.id] = group

    def replied(self, case: CaseKey) -> None:
        self._end(case.task, case.sample)

    def ended(self, case: Planned, used: Usage) -> None:
        self._end(case.task.name, case.row.id)

    def _end(self, task: str, sample: str) -> None:
        if group := self._first.pop((task, sample), None):
            self._release(group)

    def _release(self, group: Group) -> None:
        if timer := self._awaited.pop(group, None):
            timer.cancel()
            self._answered.add(group)
            self._recheck()


def _group(case: Planned) -> Group:
    return case.task.name, case.task.data.group_of(case.row)
