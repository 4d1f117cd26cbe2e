"""How much memory a process and all below it take, by looking every fifth of a second, and how much processor time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

EVERY = 0.2  # seconds
MB = 1024 / 1e6
"""MB in a KiB."""


class Watch:
    """``run`` looks until ``stop`` is set. All figures are peaks in MB (10^6 bytes) of resident memory."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.stop = threading.Event()
        self.together = self.own = self.child = 0.0

    def run(self) -> None:
        while not self.stop.wait(EVERY):
            now = 0.0
            for pid in [self.pid, *below(self.pid)]:
                now += kib("VmRSS", pid) * MB
                peak = kib("VmHWM", pid) * MB
                if pid == self.pid:
                    self.own = max(self.own, peak)
                else:
                    self.child = max(self.child, peak)
            self.together = max(self.together, now)


def below(pid: int) -> list[int]:
    """The processes that descend from one, in no special order."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for word in (thread / "children").read_text().split():
                found += [int(word), *below(int(word))]
    except OSError:  # it has just ended
        pass
    return found


def machine_cpu() -> float:
    """Seconds of processor time of all processes of the machine since it started."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def kib(field: str, pid: int | str = "self") -> int:
    """KiB: ``VmRSS`` now, ``VmHWM`` at the peak; 0 for a process that has ended. Of that process alone: what
    ``getrusage`` tells begins with the parent's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)
