"""``agentgauge merge``: puts shards of one run together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgauge_reports.merge import merge

from agentgauge.core.processes import CommandParser


def main(argv: Sequence[str]) -> int:
    parser = CommandParser(
        prog="agentgauge merge",
        description="Merge the shards of one run. The new folder holds the same records as a run without shards.",
        epilog="example: agentgauge merge runs/whole runs/shard-1 runs/shard-2 (after pytest --shard=1/2, --shard=2/2)",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write, new or empty")
    parser.add_argument("folders", type=Path, nargs="+", metavar="RUN", help="folders of the shards")
    parser.add_argument("--data", metavar="DIR", help="data set that the runs used (default: its recorded folder)")
    options = parser.parse_args(argv)
    summary = merge(options.folders, options.out, options.data)
    count = {word: sum(task[word] for task in summary["tasks"].values()) for word in ("planned", "missing", "broken")}
    runs = "1 run" if len(options.folders) == 1 else f"{len(options.folders)} runs"
    print(f"{options.out}: {count['planned']} {'case' if count['planned'] == 1 else 'cases'} of {runs}")
    if lacking := ", ".join(f"{count[word]} {word}" for word in ("missing", "broken") if count[word]):
        print(f"{lacking}: run them with pytest --resume={options.out}")
    return 0
