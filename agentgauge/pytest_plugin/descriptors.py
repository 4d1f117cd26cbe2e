"""Room for many connections in the kernel's table of a process's open files."""

from __future__ import annotations

import contextlib
import fcntl
import os

OTHERS = 64
"""Files that are open beside the connections."""


def make_room(connections: int) -> None:
    """Called while the process has one thread, this costs nothing. With several Linux lets a process wait some 20 ms,
    in the midst of the first requests, when the table of 64 is full and when each later one is: all processors must
    have seen the new one."""
    with contextlib.suppress(OSError):  # no more are allowed
        os.close(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, connections + OTHERS))
