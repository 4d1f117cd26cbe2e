"""Draws the line of a run from a thread of its own: on a terminal every second, elsewhere every ten."""

from __future__ import annotations

import threading
import time

from agentgauge.run.live import LiveRun
from agentgauge.run.progress import RunLine
from agentgauge.run.run import Run
from agentgauge.run.screen import PLAIN_SECONDS, Screen

LIVE_SECONDS = 1.0


class Progress:
    def __init__(self, run: Run, screen: Screen) -> None:
        self._screen = screen
        self._live = LiveRun(run.folder)
        self._line = RunLine(run.folder, self._live)
        self._planned = run.benchmark_cases
        self._started = run.started
        self._patient = run.settings.patient
        self._last = ""  # the latest line elsewhere
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="agentgauge-progress", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Show the counts of all records, once the workers have ended."""
        self._ended.set()
        self._thread.join()
        self._live.read(self._started)
        self._screen.draw(self._line.text(self._planned, ended=True), last=True)

    def _watch(self) -> None:
        drawn = time.monotonic()
        while not self._ended.wait(min(LIVE_SECONDS, PLAIN_SECONDS)):
            self._live.read(self._started)  # often, so that few records are in memory at once
            if self._screen.is_live or time.monotonic() - drawn >= PLAIN_SECONDS:
                drawn = time.monotonic()
                self._draw()

    def _draw(self) -> None:
        line = self._line.text(self._planned)
        if self._screen.is_live or line != self._last or not self._patient:
            self._screen.draw(line)
            self._last = line
