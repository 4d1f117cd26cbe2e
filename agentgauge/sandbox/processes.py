"""The processes that hold a program: a fresh process for each program. ``servers`` has the prepared processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox.cgroup import MemoryGroup, memory_group

INNER = str(Path(__file__).parent)
_EXECUTE = f"import sys; sys.path.append({INNER!r}); from inner.supervise import main; main()"
_GRACE = 5.0  # seconds that a process has to end after its program


@dataclass(frozen=True, slots=True)
class Setup:
    """How to build the confinement on this machine; chosen once by ``protection``."""

    refuse: tuple[str, ...] = ()  # what not to try: namespaces, mount_ns, landlock, seccomp, memory_group

    @property
    def serves(self) -> bool:
        """Whether processes can be prepared: such a process makes the namespaces of each program itself."""
        return not {"namespaces", "mount_ns"} & {*self.refuse}


@dataclass(frozen=True, slots=True)
class Streams:
    """The ends of pipes that the sandbox holds."""

    order: int
    stdout: int
    stderr: int
    status: int
    folder: int  # the program's
    ports: int | None = None  # where listening sockets are sent


class Holder(Protocol):
    layers: tuple[str, ...]
    """Protections that are in force beside those that the program's own processes report."""
    order: Mapping[str, Any] | None
    """The order that the process reads before the program's input."""

    def end(self, *, used_up: bool) -> int | None:
        """The program has ended, or has to end now. ``used_up``: the holder may be in no state for another one.
        Returns the exit status of the process that held it, where that is known."""


class NewProcess:
    """A new process, which executes the program. Raises SandboxFault if it cannot be started."""

    def __init__(self, spec: Mapping[str, Any], setup: Setup, streams: Streams) -> None:
        self._group = make_group(setup, spec["memory_bytes"])
        try:
            self._process = start(
                [sys.executable, "-I", "-S", "-c", _EXECUTE],
                {},
                stdin=streams.order,
                stdout=streams.stdout,
                stderr=streams.stderr,
                pass_fds=[each for each in (streams.status, streams.ports) if each is not None],
            )
        except BaseException:
            remove(self._group)
            raise
        counted = count(self._group, self._process)
        self.layers: tuple[str, ...] = ("memory_group",) if counted["counted"] else ()
        self.order: Mapping[str, Any] | None = {
            **spec,
            **counted,
            "status_fd": streams.status,
            "ports_fd": streams.ports,
        }

    def end(self, *, used_up: bool) -> int | None:
        ended = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            ended = self._process.wait(_GRACE)
        kill(self._process)
        remove(self._group)
        return ended


def start(command: Sequence[str], env: Mapping[str, str], **streams: Any) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(command, env=dict(env), cwd="/", start_new_session=True, **streams)
    except OSError as error:
        raise SandboxFault(f"the sandbox could not start a process: {error}", cause="no process") from error


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all other processes of its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def make_group(setup: Setup, memory_bytes: int) -> MemoryGroup | None:
    return None if "memory_group" in setup.refuse else memory_group(memory_bytes)


def remove(group: MemoryGroup | None) -> None:
    if group:
        group.close()


def count(group: MemoryGroup | None, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Put a process into its control group, while its interpreter starts."""
    counted = group is not None and group.add(process.pid)
    return {"counted": counted, "events": str(group.events) if group else ""}
