"""Which protections this machine allows, found by trying, once a process."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from functools import lru_cache

from agentgauge.core import processes
from agentgauge.core.errors import SandboxFault, UsageProblem
from agentgauge.sandbox.launch import Job, scratch_folder
from agentgauge.sandbox.paths import HIDDEN
from agentgauge.sandbox.processes import Setup
from agentgauge.sandbox.result import SandboxLimits

_FILES = {"mount_ns", "landlock"}
_NETWORK = {"net_ns", "seccomp", "landlock_tcp"}
_PROBE_LIMITS = SandboxLimits(wall_seconds=10)
_LOOKING = threading.Lock()


def chosen() -> tuple[Setup, tuple[str, ...], str]:
    """The result of ``_look``; concurrent callers wait for the first."""
    with _LOOKING:
        return _look()


def look_early() -> None:
    """Probe the machine in a thread, since a program is started for it."""

    def look() -> None:
        with contextlib.suppress(Exception):  # the next caller of ``chosen`` probes again and gets the error
            chosen()

    threading.Thread(target=look, name="agentgauge-sandbox", daemon=True).start()


@lru_cache(maxsize=1)
def _look() -> tuple[Setup, tuple[str, ...], str]:
    """The best set-up that works here, its layers, and why nothing works if nothing does.

    All layers come first; the last resorts leave out what may be half refused.
    """
    best: tuple[Setup, tuple[str, ...]] | None = None
    problem = ""
    for setup in (Setup(), Setup(refuse=("mount_ns",)), Setup(refuse=("namespaces",))):
        try:
            found = probe(setup)
        except SandboxFault as fault:
            problem = problem or str(fault)
            continue
        if "mount_ns" in found:
            return setup, found, ""
        best = best or (setup, found)
    return (*best, "") if best else (Setup(), (), problem)


def probe(setup: Setup) -> tuple[str, ...]:
    """The layers in force when a trivial program runs with a set-up. Raises SandboxFault if it does not run."""
    with scratch_folder() as folder:
        argv = [sys.executable, "-I", "-S", "-c", "pass"]
        result = Job(argv, setup, folder=folder, limits=_PROBE_LIMITS).run()
    if result.status != "ok":
        raise SandboxFault(
            f"the sandbox does not work here: {result.reason} {result.stderr[-200:]}".rstrip(), cause="sandbox"
        )
    return result.layers


def layers() -> tuple[str, ...]:
    """The protections in force on this machine, by name; empty if code cannot be run at all.

    ``process`` own session and time limit; ``rlimits``; ``user_ns pid_ns mount_ns net_ns ipc_ns uts_ns`` namespaces;
    ``own_uid`` (as root) a user id that nothing else has; ``no_capabilities`` (as root, where there is no such id);
    ``no_new_privs``; ``landlock`` files, ``landlock_tcp`` TCP; ``seccomp``; ``single_process`` no further process,
    where no PID namespace can hold them together; ``memory_group`` a control group in which Linux counts all memory.
    """
    return chosen()[1]


def missing(found: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of the minimum that these layers lack: separate process and limits, files out of reach, no network."""
    have = set(found)
    needs = (("a process with limits", {"rlimits"}), ("protection of files", _FILES), ("a closed network", _NETWORK))
    return tuple(name for name, any_of in needs if not have & any_of)


_permitted: list[bool] = []


def permit_unsafe() -> None:
    """Let code of this process run below the minimum of protection, as the user has allowed."""
    _permitted.append(True)


def kept() -> Callable[[], None]:
    """Returns what takes back later calls of ``permit_unsafe`` and ``hide``, at the end of a run whose process goes
    on."""
    before, show = [*_permitted], processes.kept(HIDDEN)

    def undo() -> None:
        _permitted[:] = before
        show()

    return undo


def check_minimum(*, allow_unsafe: bool = False) -> None:
    """Raises UsageProblem if code cannot be run safely here and the user has not allowed that it runs anyway."""
    lacking = missing(layers())
    if lacking and not (allow_unsafe or _permitted):
        raise UsageProblem(
            f"code that a model wrote would run here without {' and '.join(lacking)} (in force:"
            f" {', '.join(layers()) or 'nothing'}{'; ' + chosen()[2] if chosen()[2] else ''}); use a Linux kernel with"
            " namespaces or Landlock, or accept the danger with --allow-unsafe-code"
        )
