"""Draws the lines of a run from a thread of its own: on a terminal every second, elsewhere every ten."""

from __future__ import annotations

import threading
import time

from agentgauge.run.figures_so_far import FiguresSoFar
from agentgauge.run.live import LiveRun
from agentgauge.run.progress import RunLine
from agentgauge.run.run import Run
from agentgauge.run.screen import PLAIN_SECONDS, Screen

LIVE_SECONDS = 1.0


class Progress:
    def __init__(self, run: Run, screen: Screen) -> None:
        self._screen = screen
        tasks = [run.settings.tasks[name] for name in run.benchmark_cases]
        attempts = max((attempt for _, _, attempt in run.plan), default=1)
        figures = FiguresSoFar(tasks, run.settings.scoring, attempts=attempts)
        self._live = LiveRun(run.folder, figures)
        self._line = RunLine(run.folder, self._live, figures)
        self._planned = run.benchmark_cases
        self._started = run.started
        self._patient = run.settings.patient
        self._last: list[str] = []  # what was drawn last
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agentgauge-progress", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Show the counts of all records, once the workers have ended."""
        self._ended.set()
        self._thread.join()
        self._live.read(self._started)
        last = [self._line.text(self._planned, ended=True)]
        self._screen.draw(last, last=True)

    def _watch(self) -> None:
        drawn = time.monotonic()
        while not self._ended.wait(min(LIVE_SECONDS, PLAIN_SECONDS)):
            self._live.read(self._started)  # often, so that few records are in memory at once
            if self._screen.is_live or time.monotonic() - drawn >= PLAIN_SECONDS:
                drawn = time.monotonic()
                self._draw()

    def _draw(self) -> None:
        rows = self._line.rows(self._planned)
        if self._screen.is_live or rows != self._last or not self._patient:
            self._screen.draw(rows)
            self._last = rows
