"""Write the bundled records: ``python -m bundled_data.mmau [FOLDER]``."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

PARTS = ("tools", "plans", "contests", "maths", "notebooks")


def build(folder: Path) -> list[Path]:
    """Write every file into ``folder``; the same bytes everywhere. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for part in PARTS:
        module = import_module(f"bundled_data.mmau.{part}")
        for name, records in module.files().items():
            path = folder / name
            path.write_text(
                "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
            )
            written.append(path)
        if hasattr(module, "write_more"):  # data files that records name
            written += module.write_more(folder)
    return written


if __name__ == "__main__":
    for path in build(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "bench_mmau" / "mini"):
        print(path)
