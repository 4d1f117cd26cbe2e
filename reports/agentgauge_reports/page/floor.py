"""What ``baseline`` reaches on bundled samples: the floor beside a headline figure on the same data.

``floor.json`` has the figures. ``python -m agentgauge_reports.page.floor RUN`` writes it from a run folder of
``pytest --model=baseline bench_wild bench_mmau``; a test compares it with such a run. A floor is shown only for the
data, options and scoring with which it was measured, and if every sample ran. GTA's figures have none: they depend on
the tools that a machine has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("floor.json")
MODEL = "baseline"

Summary = Mapping[str, Any]

FIGURES = {
    "wild": [("wild", "Task"), ("wild", "Session")],
    "mmau": [("combined", "mmau")],
}
"""First part of the names of tasks and options → ``part`` and ``name`` of the headline figures over these tasks."""


def floor(column: tuple[str, str], summary: Summary) -> float | None:
    """The floor of a figure; None where none was measured under the same conditions, and for the baseline itself."""
    if summary["run"]["model"] == MODEL:
        return None
    for benchmark, figures in FIGURES.items():
        if column in figures and (found := _known().get(benchmark)) and found["of"] == _conditions(benchmark, summary):
            value = found["figures"].get(column[1])
            return None if value is None else float(value)
    return None


@cache
def _known() -> dict[str, Any]:
    known: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return known


def _conditions(benchmark: str, summary: Summary) -> dict[str, Any]:
    """On what a figure depends besides the model. ``samples``: None where not every sample ran."""
    run, tasks = summary["run"], [name for name in summary["tasks"] if name.partition(".")[0] == benchmark]
    whole = all(_is_whole(run, name, summary["tasks"][name]) for name in tasks)
    return {
        "data": {name: run["data"].get(name, {}).get("fingerprint") for name in sorted(tasks)},
        "options": {
            name: value for name, value in run.get("options", {}).items() if name.startswith(f"--{benchmark}-")
        },
        "scoring": run["scoring"],
        "samples": sum(summary["tasks"][name]["planned"] for name in tasks) // run.get("attempts", 1)
        if whole
        else None,
    }


def _is_whole(run: Mapping[str, Any], name: str, part: Mapping[str, Any]) -> bool:
    planned = run["data"].get(name, {}).get("samples", 0) * run.get("attempts", 1)
    return bool(part["planned"] == planned and not part["missing"] and not part["broken"])


def measured(summary: Summary) -> dict[str, Any]:
    """The content of ``floor.json`` by a run of the baseline."""
    return {
        benchmark: {"of": _conditions(benchmark, summary), "figures": dict(_values(figures, summary))}
        for benchmark, figures in FIGURES.items()
    }


def _values(figures: list[tuple[str, str]], summary: Summary) -> Iterator[tuple[str, float]]:
    for part, name in figures:
        scores = summary["tasks"].get(part, {}).get("metrics", {})
        for combined in summary["capabilities"].values():
            scores = scores or combined.get(part, {})
        yield name, round(scores[name]["value"], 4)


if __name__ == "__main__":
    content = measured(json.loads((Path(sys.argv[1]) / "summary.json").read_text(encoding="utf-8")))
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
