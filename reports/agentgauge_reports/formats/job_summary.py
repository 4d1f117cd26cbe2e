"""A run for the page of a CI job: Markdown as GitHub's job summaries and GitLab's comments show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from agentgauge.core.task_registry import find_task
from agentgauge_reports.end_screen import overview
from agentgauge_reports.leaderboard import not_comparable
from agentgauge_reports.terminal import alarm


def job_summary(
    summary: Mapping[str, Any], gates: Sequence[Mapping[str, str | None]], notes: Iterable[str] = ()
) -> str:
    """The overview of a run, its gates, and notes. Texts of models and data are shown as they are, never as markup.

    ``gates``: ``text``, and ``problem``, None where the gate holds. ``notes``: sentences, such as why the exit status
    is not 0.
    """
    return "\n".join([*_lines(summary, gates, notes), ""])


def _lines(
    summary: Mapping[str, Any], gates: Sequence[Mapping[str, str | None]], notes: Iterable[str]
) -> Iterator[str]:
    yield f"## {_plain(str(summary['run']['model']))}"
    yield ""
    if warning := alarm(summary):
        yield from (f"> **{_plain(warning)}**", "")
    head, *rows = overview(summary)
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(map(_plain, row))} |" for row in rows)
    yield ""
    if reasons := not_comparable(summary, map(find_task, summary["tasks"])):
        yield f"Not comparable with published rows: {_plain('; '.join(reasons))}."
        yield ""
    for gate in gates:
        yield f"- gate `{_plain(str(gate['text']))}`: {'holds' if gate['problem'] is None else 'fails'}"
    yield from (f"- {_plain(note)}" for note in notes)


def _plain(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|").replace("\n", " ")
