"""How much memory a process and all below it take, by looking every fifth of a second."""

from __future__ import annotations

import threading
from pathlib import Path

EVERY = 0.2  # seconds


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
                resident, peak = _memory(pid)
                now += resident
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


def _memory(pid: int) -> tuple[float, float]:
    """MB now and at the peak; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0, 0.0
    fields = dict(line.split(":", 1) for line in lines)
    return tuple(int(fields.get(name, "0").split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]
