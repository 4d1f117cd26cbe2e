"""Shows what the records of a run say while its cases run, and the time left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.run.run import Run
    from agentgauge.run.screen import Screen


def pytest_agentgauge_screen(run: Run, screen: Screen) -> None:
    from agentgauge.plugins.progress.progress import Progress

    run.until_cases_end.callback(Progress(run, screen).finish)
