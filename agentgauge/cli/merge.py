"""``agentgauge merge``: puts shards of one run together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from agentgauge_reports.merge import merge


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="agentgauge merge",
        description="Merge the shards of one run. The new folder holds the same records as a run without shards.",
        epilog="example: agentgauge merge runs/whole runs/shard-1 runs/shard-2",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write, new or empty")
    parser.add_argument("folders", type=Path, nargs="+", metavar="RUN", help="folders of the shards")
    parser.add_argument("--data", metavar="DIR", help="data set that the runs used (default: its recorded folder)")
    options = parser.parse_args(argv)
    summary = merge(options.folders, options.out, options.data)
    cases = sum(task["planned"] for task in summary["tasks"].values())
    print(f"{options.out}: {cases} {'case' if cases == 1 else 'cases'} of {len(options.folders)} runs")
    return 0
