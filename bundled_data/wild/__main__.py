"""``python -m bundled_data.wild [FOLDER]``: write the data set in place, or into another folder."""

from __future__ import annotations

import sys
from pathlib import Path

from bundled_data.wild.build import build

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "bench_wild" / "mini"
    print(f"built {build(target)}")
