"""Measure tools with models on a GPU: ``make gpu``, or ``python -m benchmarks.gpu --figures FILE``.

Each part runs in a process of its own (benchmarks.gpu.part) for a limited time. A part that fails, takes too long or
lacks something is written down as such, and the others go on. The exit status is 1 if an answer differs from the
processor's by more than its tolerance, else 0, also without a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tool_impls.devices import CPU, gpus, placed

ROOT = Path(__file__).parents[2]
ALL_SECONDS = 210.0  # for all parts; to install packages and to look for GPUs takes some of four minutes
SMALL_FACTOR = 10  # more time for a dry run: the machine may be busy
NOT_THERE = 3  # exit status of a part that lacks something, which its last line names

PARTS = {
    "detection": 40.0,
    "speech": 45.0,
    "vision": 50.0,
    "similarity": 45.0,
    "server": 45.0,
    "run": 60.0,
}
"""By part the seconds that it may take, most important first. Together these are more than ALL_SECONDS: a part that
needs less leaves time to those behind it."""

KINDS = ("checks", "rates", "loads", "memory", "runs")
"""What a part notes, each a JSON object in one line: see benchmarks.gpu.part."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="Measure tools with models on a GPU.")
    parser.add_argument("--device", choices=("cuda", CPU), default="cuda", help="cpu: a dry run without a GPU")
    parser.add_argument("--small", action="store_true", help="very small models and few calls: does the script work?")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--parts", default=",".join(PARTS), help="only these (default: %(default)s)")
    options = parser.parse_args(argv)
    parts = options.parts.split(",")
    if unknown := [name for name in parts if name not in PARTS]:
        parser.error(f"--parts names {unknown[0]!r}; accepted are {', '.join(PARTS)}")
    there = gpus()
    if options.device != CPU and not there:
        print("not measured on a GPU: torch sees none here, or is missing")
        return 0
    device = CPU if options.device == CPU else placed("auto", there)[0]
    card = next((gpu.card for gpu in there if gpu.device == device), "processor")
    noted = {"machine": machine(device, card, small=options.small), **measured(device, parts, small=options.small)}
    if options.figures:
        options.figures.parent.mkdir(parents=True, exist_ok=True)
        options.figures.write_text(json.dumps(noted, indent=1))
    return 1 if any(not check["met"] for check in noted["checks"]) else 0


def machine(device: str, card: str, *, small: bool) -> dict[str, Any]:
    versions = {"Python": platform.python_version()}
    for name in ("torch", "transformers", "ultralytics", "onnxruntime"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not there"
    about = {"date": time.strftime("%Y-%m-%d"), "device": device, "card": card, "cores": os.cpu_count()}
    return {**about, "small": small, "versions": versions}


def measured(device: str, parts: Sequence[str], *, small: bool) -> dict[str, Any]:
    """The outcome of each part, and all that was noted, by kind."""
    factor = SMALL_FACTOR if small else 1
    limit = time.monotonic() + ALL_SECONDS * factor
    outcomes: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="agentgauge-gpu-") as folder:
        notes = Path(folder, "notes.jsonl")
        notes.touch()
        for name in parts:
            words = ["--device", device, "--notes", str(notes), "--folder", folder, *["--small"] * small]
            start = time.monotonic()
            print(f"{name}:", flush=True)
            outcome = outcome_of([name, *words], min(PARTS[name] * factor, limit - time.monotonic()))
            print(f"  {outcome}", flush=True)
            outcomes.append({"part": name, "outcome": outcome, "seconds": time.monotonic() - start})
        # without a last line that was cut when its part was stopped
        whole = notes.read_text(encoding="utf-8").rpartition("\n")[0]
    found = [json.loads(line) for line in whole.splitlines()]
    return {"parts": outcomes, **{kind: [note for note in found if note["kind"] == kind] for kind in KINDS}}


def outcome_of(words: Sequence[str], seconds: float) -> str:
    """The outcome of a part that may take so long: ``measured``, or why it was not."""
    if seconds < 1:
        return "no time left"
    # small models lose time with more threads than one, most of all where other programs run
    one = {"OMP_NUM_THREADS": "1"} if "--small" in words else {}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.gpu.part", *words]
    # a session of its own: what it has started ends with it
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**one, **os.environ, "PYTHONPATH": python_path()}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        try:
            told, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            told, errors = process.communicate()
            print(told, end="")
            return f"stopped after {seconds:.0f} s"
    print(told, end="")
    if process.returncode == NOT_THERE:
        return f"not there: {told.strip().splitlines()[-1]}"
    if process.returncode:
        print(errors, end="", file=sys.stderr)
        return f"failed: {reason(errors) or f'exit status {process.returncode}'}"
    return "measured"


def python_path() -> str:
    """The folders of packages for a part: absolute, since it starts programs in folders of their own."""
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join([str(ROOT), *map(os.path.abspath, given)])


ERROR = re.compile(r"(INTERNALERROR> |E +)?([\w.]*(Error|Exception|Exit|Interrupt)\b|ERROR\b)")
"""How a line begins that names an error, in a traceback or as pytest writes it."""


def reason(told: str) -> str:
    """The last line of a program's output that names an error, else its last line; cut after 300 characters."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if ERROR.match(line)), lines[-1] if lines else "")[:300]


if __name__ == "__main__":
    sys.exit(main())
