"""The limit of open files of a run's process."""

from __future__ import annotations

import resource

from agentgauge.core.errors import UsageProblem

USUAL = 1024
LEAST = 64
"""Below, imports, sockets and records of a run fail one after the other."""


def require_files() -> None:
    """Raise a low limit of open files as far as the hard limit allows. Raises UsageProblem where a run cannot do with
    it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= USUAL:
        return
    most = USUAL if hard == resource.RLIM_INFINITY else min(USUAL, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < LEAST:
        raise UsageProblem(
            f"this process may open {most} files at a time, and a run needs {LEAST} or more: raise the limit (ulimit"
            f" -n {USUAL})"
        )
