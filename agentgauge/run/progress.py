"""What one line says about a run that goes on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from agentgauge.core.text import clean, clipped
from agentgauge.run.coordination.stopping import FILE as STOP
from agentgauge.run.coordination.waiting_requests import OLD, Waiting, waiting_requests
from agentgauge.run.crashes import longest_running
from agentgauge.run.hooks import ask_installed
from agentgauge.run.live import LiveRun

RATE_SECONDS = 60.0
"""Tokens of the last so many seconds make the rate."""

NAME = 40
"""Characters of the name of the case that runs longest."""

STATUSES = ("passed", "wrong", "broken")


class RunLine:
    """The line about a run that goes on."""

    def __init__(self, folder: Path, live: LiveRun) -> None:
        self._folder = folder
        self._live = live
        self._rate = Rate(time.monotonic())

    def text(self, tasks: Mapping[str, int] | None = None, *, ended: bool = False) -> str:
        """``tasks``: task → planned cases of those that count (default: all). ``ended``: nothing runs any more."""
        state = self._live.state()
        counted = [task for task in state["tasks"] if tasks is None or task["name"] in tasks]
        planned = sum(task["planned"] for task in counted) if tasks is None else sum(tasks.values())
        if not planned:
            return "starts"
        counts = {status: sum(task[status] for task in counted) for status in STATUSES}
        waiting = Waiting() if ended else waiting_requests(self._folder)
        left = None if ended or (self._folder / STOP).exists() else state["left"]  # of a run that stops: not known
        speed = 0 if ended else self._rate.per_second(waiting.tokens, time.monotonic())
        parts = [
            f"{sum(counts.values())}/{planned}{waiting.outages}",
            f"{waiting.running} {'request' if waiting.running == 1 else 'requests'} running" if waiting.running else "",
            f"{short_count(round(speed))} tokens/s" if speed >= 0.5 else "",
            late_requests(waiting.late),
            self._longest() if waiting.late else "",
            *([] if ended else self._said()),
            *(f"{status} {count}" for status, count in counts.items()),
            f"{short_count(state['tokens'])} tokens",
            f"${state['usd']:.2f}" if state["usd"] else "",
            f"{short_time(left)} left" if left else "",
        ]
        return " · ".join(filter(None, parts))

    def _longest(self) -> str:
        if (found := longest_running(self._folder)) is None:
            return ""
        task, sample, attempt = found.case
        name = f"{task} {sample}{f' #{attempt}' if attempt > 1 else ''}"
        return f"longest case: {clipped(clean(name), NAME)}, {short_time(max(0.0, time.time() - found.since))}"

    def _said(self) -> list[str]:
        """What plugins say, which only look on."""
        try:
            return ask_installed("pytest_agentgauge_progress", folder=self._folder)
        except Exception:
            return []


class Rate:
    """How fast a count grows, of the latest seconds."""

    def __init__(self, now: float) -> None:
        self._seen: deque[tuple[float, int]] = deque([(now, 0)])

    def per_second(self, count: int, now: float) -> float:
        self._seen.append((now, count))
        while now - self._seen[0][0] > RATE_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        return max(0, count - before) / max(now - then, 1e-9)


def late_requests(count: int) -> str:
    """``3 requests wait for more than 2 min``; nothing where none do."""
    if not count:
        return ""
    return f"{count} {'request waits' if count == 1 else 'requests wait'} for more than {OLD / 60:g} min"


def short_count(number: int) -> str:
    """1234567 → ``1.2M``."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f}{letter}"
    return str(number)


def short_time(seconds: float) -> str:
    """3725 → ``1h02``, 125 → ``2m05``, 9.3 → ``9s``."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}"
    return f"{whole // 60}m{whole % 60:02}" if whole >= 60 else f"{whole}s"
