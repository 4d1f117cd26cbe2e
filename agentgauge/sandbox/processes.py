"""The processes that hold a program: a fresh process for each, or a prepared one, which has run a script's text once
and forks for each of its programs."""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox.cgroup import MemoryGroup, memory_group
from agentgauge.sandbox.result import SandboxReport, read_report

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


FOLDER = "/agentgauge-code"
"""Where a program sees its folder."""

_SERVE = f"import sys; sys.path.append({INNER!r}); from inner.serve import serve; serve(globals())()"
_PREPARING = 120.0  # seconds that a script's imports may take, on a busy machine
_LOOK = 100  # milliseconds after which a server that is to be stopped while it prepares itself is


class PreparedServer:
    """A process that has run a script's text and forks for each of its programs, one at a time."""

    def __init__(self, spec: Mapping[str, Any], setup: Setup, script: str, stopped: Callable[[], bool]) -> None:
        """Raises SandboxFault if it does not get ready, or has not when ``stopped`` gives True."""
        self._group = make_group(setup, spec["memory_bytes"])
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        status, status_write = os.pipe()
        try:
            with theirs:
                self._process = start(
                    [sys.executable, "-s", "-S", "-P", "-c", _SERVE],
                    spec["env"],
                    stdin=theirs,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            counted = count(self._group, self._process)
            with tempfile.TemporaryFile() as order:  # a message would be too short for it
                marshal.dump({**spec, **counted, "script": script, "inner": INNER}, order)
                order.seek(0)
                with contextlib.suppress(OSError):  # it has died; its report says why
                    socket.send_fds(self._control, [b"."], [status_write, order.fileno()])
        except BaseException:
            self._control.close()
            os.close(status)
            remove(self._group)
            raise
        finally:
            os.close(status_write)
        try:
            report = _report(status, stopped)
        except BaseException:
            self.close()
            raise
        if report.fault or not report.started:
            self.close()
            raise SandboxFault(f"the sandbox could not get ready: {report.fault or 'no reason given'}", cause="sandbox")
        self.layers = (*report.layers[1:], *(("memory_group",) if counted["counted"] else ()))

    def begin(self, numbers: Mapping[str, Any], streams: Streams) -> None:
        """Run a program; ``numbers`` are its limits."""
        descriptors = [streams.order, streams.stdout, streams.stderr, streams.status, streams.folder]
        try:
            socket.send_fds(self._control, [marshal.dumps(dict(numbers))], descriptors)
        except OSError as error:
            raise SandboxFault(f"the prepared process has ended: {error}", cause="no process") from error

    def drop(self) -> None:
        """Close this process's connection to a server that belongs to its parent process."""
        self._control.close()

    def close(self) -> None:
        self._control.close()
        kill(self._process)
        remove(self._group)


class LeasedServer:
    """A server while it runs a program."""

    def __init__(self, key: object, server: PreparedServer) -> None:
        self._key, self._server = key, server
        self.layers: tuple[str, ...] = server.layers
        self.order: Mapping[str, Any] | None = None

    def end(self, *, used_up: bool) -> None:
        if used_up:
            self._server.close()
        else:
            _POOL.give(self._key, self._server)


class _ServerPool:
    """The servers that wait, in this process: at most two a processor, the one that has waited longest goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[object, PreparedServer]] = []

    def take(self, key: object) -> PreparedServer | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == key:
                    return self._idle.pop(place)[1]
        return None

    def give(self, key: object, server: PreparedServer) -> None:
        with self._lock:
            self._idle.append((key, server))
            gone = self._idle.pop(0)[1] if len(self._idle) > 2 * (os.cpu_count() or 1) else None
        if gone:
            gone.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, server in idle:
            server.close()

    def drop(self) -> None:
        """In a process that was forked: they belong to the other one."""
        idle, self._idle, self._lock = self._idle, [], threading.Lock()
        for _, server in idle:
            server.drop()


_POOL = _ServerPool()
atexit.register(_POOL.close)
os.register_at_fork(after_in_child=_POOL.drop)


def lease(
    spec: Mapping[str, Any],
    setup: Setup,
    script: str,
    numbers: Mapping[str, Any],
    streams: Streams,
    stopped: Callable[[], bool],
) -> LeasedServer:
    """Run a script's program in a prepared server, or in a new one. Raises SandboxFault if none can be started."""
    key = (setup, script, repr(spec))
    while waiting := _POOL.take(key):
        try:
            waiting.begin(numbers, streams)
        except SandboxFault:  # ended from outside while it waited
            waiting.close()
        except BaseException:
            waiting.close()
            raise
        else:
            return LeasedServer(key, waiting)
    server = PreparedServer(spec, setup, script, stopped)
    try:
        server.begin(numbers, streams)
    except BaseException:
        server.close()
        raise
    return LeasedServer(key, server)


def _report(status: int, stopped: Callable[[], bool]) -> SandboxReport:
    """What a process reports until it is ready or has ended."""
    content, until = b"", time.monotonic() + _PREPARING
    poll = select.poll()
    poll.register(status, select.POLLIN)
    try:
        while time.monotonic() < until and not stopped():
            if poll.poll(_LOOK):
                part = os.read(status, 1 << 16)
                if not part:
                    break
                content += part
    finally:
        os.close(status)
    return read_report(content)
