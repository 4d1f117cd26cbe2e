"""Contests for a long time: nothing is left behind, and memory does not grow. ``SOAK_MINUTES=30`` takes half an hour;
without it half a minute."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentgauge.sandbox.cgroup import places
from agentgauge.sandbox.inner import linux
from benchmarks.memory import below
from tests.plugin.project import ROOT

MINUTES = float(os.environ.get("SOAK_MINUTES", "0.5"))
ENDING = 10.0  # seconds that the last processes may take to end after the one that started them


@pytest.fixture
def orphans():
    """Processes that lose their parent become children of this one, so that none can hide."""
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    yield
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 0)


@pytest.mark.perf
@pytest.mark.usefixtures("orphans")
def test_contests_leave_nothing_behind(tmp_path, benchmark, figure):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before, mounts = set(below(os.getpid())), Path("/proc/self/mountinfo").read_text()
    looks: list[dict] = []

    def soak() -> None:
        command = [sys.executable, "-m", "benchmarks.soak", str(60 * MINUTES)]
        env = {**os.environ, "TMPDIR": str(scratch), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
        looks.extend(map(json.loads, done.stdout.strip().split("\n")))

    benchmark.pedantic(soak, rounds=1)
    _, third, end = looks
    left = left_after(ENDING, before)
    pids = {pid for look in looks for pid in look["pids"]}
    groups = [group for place in places() for pid in pids for group in place.folder.glob(f"agentgauge-{pid}-*")]
    figure("contests for a while: problems judged", sum(look["judged"] for look in looks), "problems")
    figure("contests for a while: memory at the end / after a third", end["memory"] / third["memory"], most=1.1)
    for kind in ("files", "threads", "mounts"):
        figure(f"contests for a while: {kind} more than after a third", end[kind] - third[kind], most=0)
    figure("contests for a while: processes more than after a third", len(end["pids"]) - len(third["pids"]), most=0)
    figure("contests for a while: processes left", len(left), most=0)
    figure("contests for a while: files left", len(list(scratch.iterdir())), most=0)
    figure("contests for a while: control groups left", len(groups), most=0)
    assert Path("/proc/self/mountinfo").read_text() == mounts


def left_after(seconds: float, before: set[int]) -> set[int]:
    """Processes below this one that were not there before, once they had so long to end."""
    until = time.monotonic() + seconds
    while (left := set(below(os.getpid())) - before) and time.monotonic() < until:
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)  # an orphan that has ended
        time.sleep(0.1)
    return left
