"""Prepared processes: each has run a script's text once, and forks for each of its programs."""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox.processes import INNER, Setup, Streams, count, kill, make_group, remove, start
from agentgauge.sandbox.report import Report, read_report

FOLDER = "/agentgauge-code"
"""Where a program sees its folder."""

_SERVE = f"import sys; sys.path.append({INNER!r}); from inner.serve import serve; serve(globals())()"
_PREPARING = 120.0  # seconds that a script's imports may take, on a busy machine
_LOOK = 100  # milliseconds after which a server that is to be stopped while it prepares itself is


class Server:
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

    def forget(self) -> None:
        """Close this process's connection to a server that belongs to its parent process."""
        self._control.close()

    def close(self) -> None:
        self._control.close()
        kill(self._process)
        remove(self._group)


class LeasedServer:
    """A server while it runs a program."""

    def __init__(self, key: object, server: Server) -> None:
        self._key, self._server = key, server
        self.layers: tuple[str, ...] = server.layers
        self.order: Mapping[str, Any] | None = None

    def end(self, *, used_up: bool) -> None:
        if used_up:
            self._server.close()
        else:
            _POOL.give(self._key, self._server)


class _Pool:
    """The servers that wait, in this process: at most two a processor, the one that has waited longest goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[object, Server]] = []

    def take(self, key: object) -> Server | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == key:
                    return self._idle.pop(place)[1]
        return None

    def give(self, key: object, server: Server) -> None:
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

    def forget(self) -> None:
        """In a process that was forked: they belong to the other one."""
        idle, self._idle, self._lock = self._idle, [], threading.Lock()
        for _, server in idle:
            server.forget()


_POOL = _Pool()
atexit.register(_POOL.close)
os.register_at_fork(after_in_child=_POOL.forget)


def lend(
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
    server = Server(spec, setup, script, stopped)
    try:
        server.begin(numbers, streams)
    except BaseException:
        server.close()
        raise
    return LeasedServer(key, server)


def _report(status: int, stopped: Callable[[], bool]) -> Report:
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
