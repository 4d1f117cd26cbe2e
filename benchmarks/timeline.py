"""A picture of who had which case in the air when: ``python -m benchmarks.timeline RUN picture.svg``.

Reads the records of a finished run: each case ends at its ``finished`` and took its transcript's ``seconds``. Every
worker is a row of lanes, a case takes the first lane that is free.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

COLOURS = ("#3b6ea5", "#c2703d", "#4d8f5b", "#8a5a9e")  # by worker


@dataclass(frozen=True)
class Flight:
    """One case in the air, in seconds since the first began."""

    worker: str
    start: float
    end: float


def flights(run: Path) -> list[Flight]:
    """In the order of their starts."""
    found = []
    with (run / "records.jsonl").open("rb") as lines:
        for line in lines:
            record = json.loads(line)
            if transcript := record["transcript"]:
                found.append(Flight(record["worker"], record["finished"] - transcript["seconds"], record["finished"]))
    first = min(flight.start for flight in found)
    shifted = (Flight(flight.worker, flight.start - first, flight.end - first) for flight in found)
    return sorted(shifted, key=lambda flight: flight.start)


def lanes(cases: list[Flight]) -> list[list[Flight]]:
    """Cases of one worker, packed into as few rows as were in the air at once."""
    rows: list[list[Flight]] = []
    for case in cases:
        row = next((row for row in rows if row[-1].end <= case.start), None)
        if row is None:
            rows.append(row := [])
        row.append(case)
    return rows


def draw(run: Path, picture: Path) -> None:
    """Writes an SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    by_worker: dict[str, list[Flight]] = defaultdict(list)
    for flight in flights(run):
        by_worker[flight.worker].append(flight)
    with mpl.rc_context({"svg.hashsalt": "timeline", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        axes = figure.subplots()
        base = 0
        for number, worker in enumerate(sorted(by_worker)):
            rows = lanes(by_worker[worker])
            for place, row in enumerate(rows):
                bars = [(case.start, case.end - case.start) for case in row]
                colour = COLOURS[number % len(COLOURS)]
                axes.broken_barh(bars, (base + place, 0.8), facecolors=colour, edgecolors="white", linewidth=0.3)
            axes.text(0, base + len(rows) + 0.2, f"{worker}: {len(by_worker[worker])} cases", va="bottom")
            base += len(rows) + 3
        axes.set(xlabel="seconds since the first request", yticks=[], ylim=(-1, base))
        axes.spines[["top", "left", "right"]].set_visible(False)
        figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
