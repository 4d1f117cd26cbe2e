"""Stands for an agent app with an interface of its own: a job as JSON on standard input, events as JSON lines.

It asks no model. It copies its input files into its output folder, with a short report about them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def main() -> int:
    job = json.load(sys.stdin)
    out = Path(job["out_dir"])
    out.mkdir(parents=True, exist_ok=True)
    say(event="started", request=job["request"][:60])
    lines = []
    for name in job["attachments"]:
        source = Path(name)
        shutil.copyfile(source, out / source.name)
        lines.append(f"- {source.name}: {source.stat().st_size} bytes")
    (out / "report.md").write_text("# Files\n\n" + ("\n".join(lines) or "There are none.") + "\n", encoding="utf-8")
    say(event="usage", dollars=0.01 + 0.005 * len(lines), tokens={"in": len(job["request"]), "out": 40})
    say(event="finished", message=f"I looked at {len(lines)} files and wrote report.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
