"""Runs code in the sandbox; as a program, in a process of its own that may belong to another user.

Standard input: JSON with ``code``, ``folder``, ``limits``, ``refuse`` and ``bubblewrap``. Standard output: the result
as JSON and nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from agentgauge.sandbox import Limits
from agentgauge.sandbox.launch import Job, Setup


def execute(order: dict[str, Any]) -> dict[str, Any]:
    argv = [sys.executable, "-I", "-S", "-c", order["code"]]
    job = Job(
        argv,
        Setup(tuple(order["refuse"]), order["bubblewrap"]),
        folder=Path(order["folder"]),
        limits=Limits(**order["limits"]),
    )
    return dataclasses.asdict(job.run())


if __name__ == "__main__":
    json.dump(execute(json.load(sys.stdin)), sys.stdout)
