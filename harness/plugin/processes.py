"""How many worker processes ``-n`` starts: no more than the processors can use.

A worker keeps many requests in the air at once, so that processes beyond the processors add start-up, collection and
memory, and no speed (docs/performance.md has the measurement). ``--in-flight`` is a total and stays as it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ASKED = pytest.StashKey[int]()
"""How many workers ``-n`` asked for, where fewer are started."""

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""What a container may use: microseconds of processor time, and of wall time; ``max`` is no limit."""


def processors(quota: Path = QUOTA) -> int:
    """Processors that this process may use, at least 1: those it may run on, or fewer by a container's quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        granted, period = quota.read_text(encoding="ascii").split()
        return max(1, min(usable, -(-int(granted) // int(period))))
    except (OSError, ValueError):  # no container, or none with a quota
        return usable


def limit_workers(config: pytest.Config, most: int) -> None:
    """Take workers away from ``-n N`` that are more than ``most``. ``--tx`` is taken as it is."""
    option = config.option
    asked = getattr(option, "numprocesses", None)
    if not isinstance(asked, int) or asked <= most:
        return
    config.stash[ASKED] = asked
    option.numprocesses = most
    del option.tx[most:]  # xdist has filled it already if it came first


def told(config: pytest.Config) -> str | None:
    """What the header says of it."""
    asked = config.stash.get(ASKED, None)
    if asked is None:
        return None
    started = config.option.numprocesses
    return (
        f"{started} worker{'' if started == 1 else 's'} instead of {asked}: more than there are processors would cost start-up and "
        f"memory and gain nothing, as each keeps many requests in the air; --tx '{asked}*popen' --dist load starts them all"
    )
