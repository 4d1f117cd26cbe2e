"""In a CI job: the run's overview for the job's page, and its problems as annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from agentgauge.run.run import Run


@pluggy.HookimplMarker("pytest")(trylast=True)  # it shows what others have noted
def pytest_agentgauge_report(run: Run) -> None:
    from agentgauge_reports.ci import job_summary

    assert run.summary_json is not None
    notes = [*run.held, *run.problems, *run.notes]
    run.notes += job_summary.add(run.summary_json, run.settings.tasks, run.about.get("gates", ()), notes)


def pytest_agentgauge_terminal(run: Run, write: Callable[[str], None]) -> None:
    from agentgauge_reports.ci.job_summary import error_commands

    for line in error_commands(run.problems):
        write(line)
