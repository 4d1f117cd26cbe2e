"""The plots of the page on performance, as small SVG files that come out alike from alike figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Plot:
    title: str
    x: str
    y: str
    scale: str = "linear"  # of x
    base: int = 10


PLOTS = {
    "samples": Plot("What a sample costs among many", "samples of the run", "ms a sample", "log"),
    "in-flight": Plot("1,024 samples of 200 ms", "requests in flight (--in-flight)", "seconds", "log", 2),
    "workers": Plot("1,024 samples of 200 ms, 128 in flight", "worker processes", "seconds"),
    "many-cores": Plot("Contests, simulated", "processors", "problems a second", "log", 2),
    "workers-memory": Plot("Memory of all processes", "worker processes", "MB"),
}


def draw(curves: Mapping[str, Mapping[str, Points]], folder: Path) -> None:
    """Write ``performance-NAME.svg`` for each plot; those without points stay as they are. Raises KeyError for an
    unknown plot."""
    if not curves:
        return
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "performance", "svg.fonttype": "none", "font.size": 9})
    folder.mkdir(exist_ok=True)
    for name, lines in curves.items():
        _draw(PLOTS[name], lines, folder / f"performance-{name}.svg")


def _draw(plot: Plot, lines: Mapping[str, Points], file: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3), layout="constrained")
    for label, points in lines.items():
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, label=label)
    ticks = sorted({x for points in lines.values() for x, _ in points})
    if plot.scale == "log":
        axes.set_xscale("log", base=plot.base)
    axes.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    axes.minorticks_off()
    axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
