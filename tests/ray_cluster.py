"""One Ray cluster for all tests of a run: whichever of its processes wants it first starts it, and it ends with the
run.

    python -m tests.ray_cluster FOLDER PID

starts one, writes how it is joined to FOLDER, and ends when the process PID has ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CPUS = 8.0
"""Processors that it claims to have: shards are to find room on any machine."""


_STARTED: list[subprocess.Popen[bytes]] = []
"""Kept, because Python warns of a process that goes on when nothing refers to it any more."""


@dataclass(frozen=True)
class Cluster:
    """``environment``: with which a process may join it, beside its own."""

    address: str
    environment: dict[str, str]


def shared_cluster(folder: Path, run: int) -> Cluster:
    """The cluster of the processes that name the same folder. ``run``: the process with which it ends."""
    with (folder / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = folder / "ray.json"
        if not told.exists():
            with (folder / "ray.log").open("wb") as log:
                command = [sys.executable, "-m", "tests.ray_cluster", str(folder), str(run)]
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=log, cwd=Path(__file__).parents[1], start_new_session=True
                )
            _STARTED.append(process)
            assert process.stdout is not None
            with process.stdout as stream:
                assert stream.readline() == b"ready\n", (folder / "ray.log").read_text()
    return Cluster(**json.loads(told.read_text()))


def _main(folder: Path, run: int) -> None:
    from agentgauge.run.ray_cluster import connect, disconnect

    connect("local", cpus=CPUS)
    import ray

    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_TMPDIR", "RAY_USAGE_STATS_ENABLED")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    told = {"address": ray.get_runtime_context().gcs_address, "environment": environment}
    (folder / "ray.json").write_text(json.dumps(told))
    print("ready", flush=True)
    select.select([os.pidfd_open(run)], [], [])
    disconnect()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]))
