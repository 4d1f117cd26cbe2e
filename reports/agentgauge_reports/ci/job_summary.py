"""A run for the page of a CI job: a summary in Markdown, and annotations of GitHub Actions.

Wrong answers are results: the summary counts them, and no annotation names them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.registry import Registry
from agentgauge_reports.leaderboard import not_comparable, tasks_of_run
from agentgauge_reports.notices import alarm, doubts, remarks
from agentgauge_reports.terminal import overview

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable with the file that GitHub shows on the job's page."""

ACTIONS = "GITHUB_ACTIONS"
"""Environment variable that is ``true`` in a job."""

Gates = Sequence[Mapping[str, str | None]]


def add(summary: Mapping[str, Any], tasks: Registry, gates: Gates, notes: Iterable[str]) -> list[str]:
    """Add a run to the job's summary, if the job has one. Returns the reason of a failure. The arguments are those of
    ``job_summary``.
    """
    if file := os.environ.get(SUMMARY):
        try:
            with Path(file).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(job_summary(summary, tasks, gates, notes))
        except OSError as error:
            return [f"{SUMMARY}={file} cannot be written ({error.strerror}); the job has no summary of this run"]
    return []


def error_commands(problems: Iterable[str]) -> Iterator[str]:
    """In GitHub Actions a workflow command for each problem, escaped so that a text cannot begin another command."""
    if os.environ.get(ACTIONS) == "true":
        for problem in problems:
            yield "::error title=AgentGauge::" + problem.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def job_summary(summary: Mapping[str, Any], tasks: Registry, gates: Gates, notes: Iterable[str] = ()) -> str:
    """The overview of a run, its gates, and notes. Texts of models and data are shown as they are, never as markup.

    ``gates``: ``text``, and ``problem``, None where the gate holds. ``notes``: sentences, such as why the exit status
    is not 0.
    """
    return "\n".join([*_lines(summary, tasks, gates, notes), ""])


def _lines(summary: Mapping[str, Any], tasks: Registry, gates: Gates, notes: Iterable[str]) -> Iterator[str]:
    yield f"## {_plain(str(summary['run']['model']))}"
    yield ""
    for warning in filter(None, (alarm(summary), *doubts(summary, tasks))):
        yield from (f"> **{_plain(warning)}**", "")
    yield from (line for text in remarks(summary) for line in (f"> {_plain(text)}", ""))
    head, *rows = overview(summary, tasks)
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(map(_plain, row))} |" for row in rows)
    yield ""
    if reasons := not_comparable(summary, tasks_of_run(summary, tasks)):
        yield f"Not comparable with published rows: {_plain('; '.join(reasons))}."
        yield ""
    for gate in gates:
        yield f"- gate {_plain(str(gate['text']))}: {'holds' if gate['problem'] is None else 'fails'}"
    yield from (f"- {_plain(note)}" for note in notes)


def _plain(text: str) -> str:
    """A text in which nothing is Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>&|!#~@])", r"\\\1", " ".join(text.split()))
