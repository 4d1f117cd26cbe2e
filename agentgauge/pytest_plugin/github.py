"""What a run tells GitHub Actions: a summary of the job, and annotations for faults and failed gates.

Wrong answers are results: they are in the summary, and no annotation.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from agentgauge.pytest_plugin.run_state import RunState

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable with the file that GitHub shows on the job's page."""

ACTIONS = "GITHUB_ACTIONS"
"""Environment variable that is ``true`` in a job."""


def write_summary(state: RunState) -> None:
    """Add the run to the job's summary, where there is one. A file that cannot be written is noted."""
    if not (file := os.environ.get(SUMMARY)) or state.summary is None:
        return
    from agentgauge_reports.formats.job_summary import job_summary

    try:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(job_summary(state.summary, state.gates, [*state.held, *state.problems]))
    except OSError as error:
        state.notes.append(f"{SUMMARY}={file} cannot be written ({error.strerror}); the job has no summary of this run")


def error_commands(state: RunState) -> Iterator[str]:
    """A workflow command for each problem of the run."""
    if os.environ.get(ACTIONS) == "true":
        for problem in state.problems:
            yield f"::error title=AgentGauge::{_escaped(problem)}"


def _escaped(text: str) -> str:
    """As the runner's commands want it: else a message could end the command and begin another."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
