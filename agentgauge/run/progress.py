"""What one line says about a run that goes on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from agentgauge.core.text import clean, clipped, counted
from agentgauge.run.coordination.stopping import FILE as STOP
from agentgauge.run.coordination.waiting_requests import OLD, Waiting, waiting_requests
from agentgauge.run.crashes import longest_running
from agentgauge.run.figures_so_far import FiguresSoFar
from agentgauge.run.hooks import ask_installed
from agentgauge.run.live import LiveRun

RATE_SECONDS = 60.0
"""Tokens of the last so many seconds make the rate."""

SEPARATOR = " · "

NAME = 40
"""Characters of the name of the case that runs longest."""

STATUSES = ("passed", "wrong", "broken")


class RunLine:
    """What is shown of a run that goes on: a line where there is room for one, else a few rows."""

    def __init__(self, folder: Path, live: LiveRun, figures: FiguresSoFar | None = None) -> None:
        """``figures``: those that ``live`` keeps up to date."""
        self._folder = folder
        self._live = live
        self._figures = figures
        self._rate = Rate(time.monotonic())

    def text(self, tasks: Mapping[str, int] | None = None, *, ended: bool = False) -> str:
        """All in one line. ``tasks``, ``ended``: see ``rows``."""
        return SEPARATOR.join(self.rows(tasks, ended=ended))

    def rows(self, tasks: Mapping[str, int] | None = None, *, ended: bool = False) -> list[str]:
        """How the cases end; what goes on with requests, and what they have cost; the figures so far. ``tasks``: task →
        planned cases of those that count (default: all). ``ended``: nothing runs any more."""
        state = self._live.state()
        selected = [task for task in state["tasks"] if tasks is None or task["name"] in tasks]
        planned = sum(task["planned"] for task in selected) if tasks is None else sum(tasks.values())
        if not planned:
            return ["starts"]
        counts = {status: sum(task[status] for task in selected) for status in STATUSES}
        left_over = planned - sum(counts.values())
        has_ended = ended or left_over <= 0
        waiting = waiting_requests(self._folder)
        if has_ended:  # what is noted of requests is a moment older
            waiting = Waiting(retries=waiting.retries, tokens=waiting.tokens)
        # not known of a run that stops, during an outage, and where retries make the pace
        is_stopping = (self._folder / STOP).exists()
        makes_pace = waiting.resting and 2 * waiting.resting >= left_over
        is_known = not (has_ended or is_stopping or waiting.outages or makes_pace)
        left = state["left"] if is_known else None
        cases = [
            f"{sum(counts.values())}/{planned}",
            *(f"{status} {count}" for status, count in counts.items()),
            f"about {short_time(left)} left" if left else "",
        ]
        speed = 0 if ended else self._rate.per_second(waiting.tokens, time.monotonic())
        requests = [
            waiting.outages,
            in_flight(waiting),
            "" if ended else retries(waiting),
            _dollars(state["usd"]),
            f"{short_count(round(speed))} tokens/s" if speed >= 0.5 else "",
            late_requests(waiting.late),
            self._longest() if waiting.late else "",
            *([] if ended else self._said()),
            f"{short_count(state['tokens'])} tokens",
        ]
        figures = self._figures.texts(selected) if self._figures and not ended else []
        pairs = [figures[place : place + 2] for place in range(0, len(figures), 2)]  # what fits 80 columns
        if pairs:
            pairs[0][0] = f"so far: {pairs[0][0]}"
        rows = [cases, requests, *pairs]
        return [SEPARATOR.join(filter(None, parts)) for parts in rows if any(parts)]

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


def _dollars(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.01 else "less than $0.01" if usd else ""


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


def in_flight(waiting: Waiting) -> str:
    """``12/256 concurrent requests``; nothing before the first request to an endpoint."""
    limit = min(waiting.limit, waiting.slots)
    return f"{waiting.running}/{max(limit, waiting.running)} concurrent requests" if limit else ""


def retries(waiting: Waiting) -> str:
    """``5 retries, 2 requests wait to be sent again``; nothing without any."""
    words, done = [], waiting.retries - waiting.resting
    if done > 0:
        words.append(counted(done, "retry", "retries"))
    if waiting.resting:
        words.append(
            f"{waiting.resting} {'request waits' if waiting.resting == 1 else 'requests wait'} to be sent again"
        )
    return ", ".join(words)


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
