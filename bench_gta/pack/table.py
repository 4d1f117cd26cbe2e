"""The harness table: the scores of an agent app, with time and cost (GTA-Workflow spec 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Json
from bench_gta.pack.file_selection import escaped
from bench_gta.workflow.metrics import harness_rows

HEADS = ("Harness", "Root Score", "Leaf SR", "Root SR", "Time (min)", "Cost (USD)", "Score per cost", "Tasks", "Judge")

_NOTES = """\
- Leaf SR and Root SR are percentages; ours count leaves and tasks from {thresholds} on. The publication does not name \
its thresholds.
- Published rows are of 30 tasks that are not named, under the publication's judge: they are comparable only with runs \
of the same tasks, judge and thresholds.
- A task that could not be judged counts as 0. A time or cost is shown only where it is known for every task that is \
done."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line. None: not known."""

    name: str
    root_score: float | None
    leaf_sr: float | None  # percent
    root_sr: float | None  # percent
    minutes: float | None
    usd: float | None
    tasks: str  # done of all
    judge: str
    thresholds: tuple[float, float] | None = None  # leaf, root; None: not published

    @property
    def score_per_cost(self) -> float | None:
        """Root score over the cost of all tasks in US dollars."""
        return self.root_score / self.usd if self.root_score is not None and self.usd else None


def read_row(scores: Path) -> Row:
    """The row of a file of scores, or of its summary. Raises UsageProblem."""
    beside = scores.with_name(f"{scores.stem}_summary.json")
    file = scores if scores.stem.endswith("_summary") or not beside.is_file() else beside
    try:
        value = json.loads(file.read_bytes())
        figures, settings, counts, agent = value["figures"], value["settings"], value["summary"], value["agent"]
        seconds = _number(agent["elapsed_sec"])
        return Row(
            name=escaped(str(value["name"])),
            root_score=_number(figures["Root Score"]),
            leaf_sr=_number(figures["Leaf SR"]),
            root_sr=_number(figures["Root SR"]),
            minutes=None if seconds is None else seconds / 60,
            usd=_number(agent["usd"]),
            tasks=escaped(f"{counts['n_done']}/{counts['n_total']}"),
            judge=escaped(f"{settings['judge']}, {settings['scoring']}"),
            thresholds=(float(settings["leaf_threshold"]), float(settings["root_threshold"])),
        )
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise UsageProblem(
            f"{scores} has no summary beside it that can be read; give a file that `agentgauge pack score` wrote, or"
            " its summary"
        ) from None


def _number(value: Json) -> float | None:
    if value is None or isinstance(value, int | float):
        return value
    raise TypeError


def table(rows: Sequence[Row]) -> str:
    """Our rows, then the published ones, in Markdown, with notes on how to compare them."""
    thresholds = sorted({row.thresholds for row in rows if row.thresholds})
    lines = [_line(HEADS), _line(["---"] + ["---:"] * 7 + ["---"])]
    lines += [_line(_cells(row)) for row in (*rows, *map(_published, harness_rows()))]
    used = " and ".join(f"{leaf:g} (leaf) and {root:g} (root)" for leaf, root in thresholds)
    return "\n".join([*lines, "", _NOTES.format(thresholds=used)])


def _published(row: Mapping[str, Json]) -> Row:
    model = f" ({row['model']})" if row["model"] else ""
    return Row(
        name=f"{row['harness']}{model}, published",
        root_score=row["Root Score"],
        leaf_sr=row["Leaf SR"],
        root_sr=row["Root SR"],
        minutes=row["minutes"],
        usd=row["usd"],
        tasks="30",
        judge="of the publication",
    )


def _cells(row: Row) -> list[str]:
    figures = zip((row.root_score, row.leaf_sr, row.root_sr, row.minutes, row.usd), (2, 2, 2, 1, 2), strict=True)
    shown = ["–" if value is None else f"{value:.{digits}f}" for value, digits in (*figures, (row.score_per_cost, 3))]
    return [row.name, *shown, row.tasks, row.judge]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
