"""``python -m bench_gta.mini_workflow_build [FOLDER]``: build the data set in place, or in another folder."""

from __future__ import annotations

import sys
from pathlib import Path

from bench_gta.mini_workflow_build.build import build

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "mini_workflow"
    try:
        build(target)
    except ValueError as error:
        sys.exit(str(error))
    print(f"built {target}")
