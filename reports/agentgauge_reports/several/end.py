"""The end of several runs: writes their joint results, and returns lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.store import RunFolder
from agentgauge_reports.comparison.compare import LETTERS, comparison
from agentgauge_reports.end_screen import uncounted
from agentgauge_reports.several.ranking import joint_leaderboard, overview
from agentgauge_reports.text import WIDTH, aligned, fill

COMPARISON, LEADERBOARD = "comparison.html", "leaderboard.md"
"""Files in the folder of the runs."""


def end_of(parent: Path, names: Sequence[str], width: int = WIDTH) -> Iterator[str]:
    """Write one comparison and one leaderboard of the runs ``names`` below ``parent``. Yields lines for the terminal.

    Runs without a summary are in neither. Raises OSError.
    """
    summaries = _summaries(parent, names)
    ended = list(summaries)
    if not summaries:
        return
    yield ""
    yield from overview(summaries, width)
    for name, summary in summaries.items():
        for why in uncounted(summary):
            yield from fill("", f"{name}: {why}", width, hanging="  ")
    gates = [
        (name, "fails" if gate["problem"] else "holds", gate["problem"] or gate["text"])
        for name in ended
        for gate in _gates(parent / name)
    ]
    if gates:
        yield ""
        yield from aligned([("run", "gate", ""), *gates], left=(0, 1, 2))
    (parent / LEADERBOARD).write_text(joint_leaderboard(summaries), encoding="utf-8", errors="replace")
    written = [LEADERBOARD]
    yield ""
    try:
        if len(ended) == 1:
            raise UsageProblem(f"only {ended[0]} has results to compare")
        shown = [parent / name for name in ended[: len(LETTERS)]]
        (parent / COMPARISON).write_text(comparison(shown, "html", parent), encoding="utf-8", errors="replace")
        written.insert(0, COMPARISON)
    except UsageProblem as problem:
        yield f"no {COMPARISON}: {problem}"
    else:
        if ended[len(LETTERS) :]:
            yield f"{COMPARISON} has the first {len(LETTERS)} of {len(ended)} runs"
    files = f"{parent}/{', '.join(written)}, and in each run's folder report.html, summary.json, records.jsonl"
    yield from fill("", f"results: {files}", width, hanging="  ")
    yield f"next: agentgauge view {parent}"


def tasks_of(parent: Path, names: Sequence[str]) -> set[str]:
    """The tasks that the runs have."""
    return {task for summary in _summaries(parent, names).values() for task in summary["tasks"]}


def _summaries(parent: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    ended = [name for name in names if (parent / name / "summary.json").exists()]
    return {name: RunFolder(parent / name).read_json("summary.json") for name in ended}


def _gates(run: Path) -> list[dict[str, Any]]:
    return list(RunFolder(run).read_json("run.json").get("gates", ()))
