"""A run of GTA-Atomic from end to end, with tools on the device and the model that knows the right calls."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.gpu.answers import Vision
from benchmarks.gpu.notes import Notes, Run
from benchmarks.gpu.subject import BATCH

ROOT = Path(__file__).parents[2]
CASES, SMALL_CASES = 12, 2

SETTINGS = """
[tools]
basic = true
missing = "disable"
devices = "{device}"

[tools.detection]
weights = "shapes"

[tools.vision]
weights = "{vision}"
batch = {batch}
max_tokens = 8

[tools.GoogleSearch]
folder = "{root}/bench_gta/atomic/mini/search"
"""


def measure(folder: Path, device: str, small: bool, notes: Notes) -> None:
    """``folder``: of all parts, whose weights are used again. Raises RuntimeError where the run does not begin."""
    vision = Vision(folder / "vision", not small)
    if not (vision.folder / "weights").exists():
        vision.folder.mkdir(exist_ok=True)
        vision.make()
    own = folder / "run"
    values = {"device": device, "vision": vision.folder / "weights", "batch": BATCH, "root": ROOT}
    (own / "agentgauge.toml").write_text(SETTINGS.format(**values))
    cases = SMALL_CASES if small else CASES
    command = [sys.executable, "-m", "pytest", str(ROOT / "bench_gta" / "test_e2e.py")]
    command += ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(own), "-p", "no:cacheprovider"]
    command += ["--model=oracle", f"--limit={cases}", "-n", "0" if small else "8"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=own, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    summary = next(own.glob("runs/*/summary.json"), None)
    if summary is None:
        raise RuntimeError(f"the run did not begin: {' '.join((done.stdout + done.stderr).split())[-600:]}")
    counts = json.loads(summary.read_text())["tasks"]["gta_atomic.e2e"]
    print(done.stdout)
    notes.add(Run(counts["planned"], counts["passed"], done.returncode, f"tools on {device}" in done.stdout, seconds))
