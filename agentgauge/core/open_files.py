"""The limit of open files of a process."""

from __future__ import annotations

import resource

from agentgauge.core.errors import UsageProblem

USUAL = 1024
LEAST = 64
"""Below, imports, sockets and records of a run fail one after the other."""


def raise_file_limit(wanted: int) -> int:
    """Raise this process's limit of open files to ``wanted``, as far as the hard limit allows. Returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def require_files() -> None:
    """Let a run open as many files as usual. Raises UsageProblem where it cannot do with what the hard limit allows."""
    most = raise_file_limit(USUAL)
    if most < LEAST:
        raise UsageProblem(
            f"this process may open {most} files at a time, and a run needs {LEAST} or more: raise the limit (ulimit"
            f" -n {USUAL})"
        )
