"""Judge contest programs of every kind for some seconds: ``python -m benchmarks.soak SECONDS``.

When nothing runs after a warm-up, a third of the time and all of it, a line of JSON says what the process holds and how
many problems it has judged so far.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from agentgauge.run.thread_pools import processors
from agentgauge.sandbox.cgroup import places
from bench_mmau.contests import score
from bench_mmau.contests.execute import ExecutionLimits, ExecutionSettings
from benchmarks.memory import MB, below, kib

TESTS = {"input": ["5\n", "6\n"], "output": ["25\n", "36\n"]}
PROBLEM = {"id": "square", "public_tests": TESTS, "private_tests": TESTS}
SQUARE = "print(int(input()) ** 2)"
PROGRAMS = (
    (SQUARE, True),
    ("print(int(input()) ** 2", False),
    ("raise ValueError", False),
    ("import sys\nsys.exit()", False),
    ("import ctypes\nctypes.string_at(0)", False),
    ("while True: pass", False),
    ("import time\ntime.sleep(60)", False),
    ("x = bytearray(1 << 40)", False),
    ("x = []\nwhile True: x.append(bytearray(1 << 24))", False),
    ("print('x' * (1 << 26))", False),
    ("for n in range(1000): open(str(n), 'w').write('x' * 1000)\n" + SQUARE, True),
    ("for n in range(20): open(str(n), 'w').write('x' * (1 << 22))\n" + SQUARE, False),
    ("import ctypes, os, time\nif not ctypes.CDLL(None).fork():\n    os.setsid(); time.sleep(60)\n" + SQUARE, True),
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n" + SQUARE, True),
)
"""Programs, and whether they solve the problem."""

LIMITS = replace(ExecutionLimits().resources, memory_bytes=1 << 28, disk_bytes=16 << 20, output_bytes=16 << 20)
JUDGES = processors() + 2  # problems at a time


def main(seconds: float) -> None:
    rounds = itertools.count()
    with ThreadPoolExecutor(JUDGES) as judges:
        for end in (0.0, seconds / 3, seconds * 2 / 3):
            until = time.monotonic() + end
            judged = sum(judges.map(judge, [rounds] * JUDGES, [until] * JUDGES))
            print(json.dumps({"judged": judged, **holds()}), flush=True)


def judge(rounds: Iterator[int], until: float) -> int:
    """Judge one program after the other, no two alike; each of ``PROGRAMS`` at least once. How many it were."""
    where = ExecutionSettings(ExecutionLimits(0.5, 1.0, LIMITS))
    for done in itertools.count():
        number = next(rounds)
        if number >= len(PROGRAMS) and time.monotonic() > until:
            return done
        program, right = PROGRAMS[number % len(PROGRAMS)]
        found = score.judge(PROBLEM, [[f"{program}\n# {number}"]], where)
        assert found.passed is right, (program, found.explanation)
    raise AssertionError


def holds() -> dict[str, object]:
    """What this process and those below it hold. ``pids``: their numbers, this one's first."""
    pids = [os.getpid(), *below(os.getpid())]
    groups = {str(group) for pid in pids for place in places() for group in place.folder.glob(f"agentgauge-{pid}-*")}
    return {
        "pids": pids,
        "memory": sum(kib("VmRSS", pid) for pid in pids) * MB,
        "threads": threading.active_count(),
        "files": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "groups": sorted(groups),
    }


if __name__ == "__main__":
    main(float(sys.argv[1]))
