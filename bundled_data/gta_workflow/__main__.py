"""``python -m bundled_data.gta_workflow [FOLDER]``: build the data set in place, or in another folder."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bundled_data.gta_workflow.build import build

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "bench_gta" / "workflow" / "mini"
    try:
        with tempfile.TemporaryDirectory(prefix="agentgauge-plan-") as scratch:
            build(target, Path(scratch))
    except ValueError as error:
        sys.exit(str(error))
    print(f"built {target}")
