"""Runs a program in the sandbox and waits for its end. This is AgentGauge's side; ``inner`` is the sandbox's side."""

from __future__ import annotations

import contextlib
import marshal
import math
import os
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

from agentgauge.core.errors import SandboxFault
from agentgauge.core.files import OwnFolder, remove_tree
from agentgauge.sandbox.forwarder import Forwarder
from agentgauge.sandbox.paths import view
from agentgauge.sandbox.processes import FOLDER, Holder, NewProcess, Setup, Streams, lease
from agentgauge.sandbox.result import (
    SandboxLimits,
    SandboxReport,
    SandboxResult,
    Steps,
    ended_from_outside,
    ending,
    read_report,
    verdict,
)

_GRACE = 5.0  # seconds that the sandbox has to end after the time limit
_KEEPING = 20 << 20  # bytes a second at which it brings back the folder, at the least
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Script:
    """Python text that defines a function ``main`` without arguments and runs in a prepared interpreter.

    The text itself runs once in each of several processes, confined, with ``__name__`` "prepared": there it imports
    what its programs need. It must start no thread, and must not read or keep anything that only one of the programs
    may know. ``main`` then runs in a fork of such a process, in module ``__main__``, as a program of its own. If the
    text defines ``import_more``, it is called between programs, when none waits, until it gives False: to import what
    may be of use to many. Where it raises or leaves a thread, the process goes on as it was before the first such call.
    Installed packages are not on ``sys.path`` before the text puts them there. Where no process can stand ready, the
    text is executed as a program with ``__name__`` "__main__", and has to call ``main`` itself.
    """

    text: str


class Options(TypedDict, total=False):
    """What a program may see and use."""

    folder: Required[Path]
    """Working directory, and the only folder that the program can write. A program with a file system of its own works
    on a copy in memory that replaces the folder at the end: files and folders without special bits, and links. What it
    leaves is as untrusted as its output (links!). Files put there should be copies, not hard links."""
    limits: SandboxLimits
    stdin: bytes
    env: Mapping[str, str] | None  # added to the small fixed environment
    readable: Sequence[Path]
    """Files and folders that may be read besides the interpreter, the system's libraries and installed packages. This
    project and what was given to ``hide`` cannot be read."""
    packages: bool  # default True: installed packages can be read
    network: bool  # default False; True: IP over this machine's network, services on localhost included
    unix_sockets: bool
    """Default False; True: UNIX sockets between the program's own processes, where the sandbox gives it files and a
    network of its own. Such a program is always started anew."""
    own_proc: bool
    """Default False; True: a /proc of the program's own processes alone, where the sandbox gives it files and processes
    of its own. Programs that were built with Bun do not start without it."""
    ports: Sequence[int]
    """TCP ports of this machine's 127.0.0.1 that the program reaches at the same address; it has no other network.
    Without meaning where it has the network."""
    steps: Steps | None  # work that is handed over piece by piece
    keep: bool  # default True; False: what the program leaves in the folder may be thrown away


def environment(folder: str) -> dict[str, str]:
    """The whole environment of the code. Nothing of AgentGauge's own environment gets in."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # the same code gives the same output
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # else it takes one thread, and 30 MB of address space, per core
    }


@dataclass(slots=True)
class _Received:
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    report: bytearray = field(default_factory=bytearray)
    overflow: bool = False


class Job:
    """A program, where and how to run it. ``run`` once; ``stop`` from any thread."""

    def __init__(self, program: Sequence[str] | Script, setup: Setup, **options: Unpack[Options]) -> None:
        folder, limits, steps = options["folder"], options.get("limits", SandboxLimits()), options.get("steps")
        network = options.get("network", False)
        self._ports = [] if network else list(options.get("ports", ()))
        unix_sockets = options.get("unix_sockets", False)
        prepared = isinstance(program, Script) and setup.serves and not (network or self._ports or unix_sockets)
        self._script = program.text if isinstance(program, Script) and prepared else None
        argv = [sys.executable, "-s", "-S", "-P", "-c", program.text] if isinstance(program, Script) else list(program)
        if not argv or not Path(argv[0]).is_absolute():
            named = repr(argv[0]) if argv else "nothing"
            raise SandboxFault(f"the program to run must be an absolute path, not {named}", cause="no program")
        self._limits = limits
        self._setup = setup
        self._lock = threading.Lock()
        self._stopped = False
        self._lifeline: int | None = None  # the sandbox ends when it is closed
        self._folder = folder.resolve()
        if not self._folder.is_dir():
            raise SandboxFault(f"the sandbox needs an existing folder, and {folder} is not one", cause="no folder")
        readable = [*map(str, options.get("readable", ()))]
        seen = view(readable, packages=options.get("packages", True))
        where = str(self._folder) if self._script is None else FOLDER
        self._spec: dict[str, Any] = {
            "env": environment(where) | dict(options.get("env") or {}),
            "folder": where,
            "mounts": list(seen.mounts),
            "network": network,
            "unix_sockets": unix_sockets,
            "ports": self._ports,
            "own_proc": options.get("own_proc", False),
            "refuse": setup.refuse,
            "prepared": self._script is not None,
            "memory_bytes": limits.memory_bytes,
            "seen": [path.stat()[1:3] for path in map(Path, readable) if path.exists()],  # a server keeps its mounts
        }
        self._numbers: dict[str, Any] = {
            **asdict(limits),
            "cpu_seconds": math.ceil(limits.wall_seconds if limits.cpu_seconds is None else limits.cpu_seconds),
            "all_cpu_seconds": limits.cpu_seconds and math.ceil(limits.cpu_seconds),
            "keep": options.get("keep", True),
            "steps": steps is not None,
        }
        self._executed = {"argv": argv, "readable": list(seen.readable), "listed": list(seen.listed)}
        self._given = {
            "stdin": options.get("stdin", b""),
            "steps": steps and {**asdict(steps), "inputs": list(steps.inputs)},
        }

    def stop(self) -> None:
        """End the code now, if it runs."""
        self._stopped = True
        self._close_lifeline()

    def _close_lifeline(self) -> None:
        with self._lock:
            if self._lifeline is not None:
                os.close(self._lifeline)
                self._lifeline = None

    def run(self) -> SandboxResult:
        """Run to the end. Raises SandboxFault if the confinement or the program cannot be started."""
        began = time.monotonic()
        arrived, report, ended, died = _Received(), SandboxReport(), False, None
        with contextlib.ExitStack() as ours:
            ours.callback(self._close_lifeline)
            with contextlib.ExitStack() as theirs:
                try:
                    folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                    theirs.callback(os.close, folder)
                    order, given = os.pipe()
                    theirs.callback(os.close, order)
                    giving = ours.enter_context(os.fdopen(given, "wb", buffering=0))
                    self._lifeline = os.dup(given)
                    (stdout, out), (stderr, err), (status, status_end) = (_pipe(ours, theirs) for _ in range(3))
                    sending = self._forward(ours, theirs) if self._ports else None
                except OSError as error:
                    raise SandboxFault(f"the sandbox cannot be reached: {error}", cause="no process") from error
                if self._stopped:
                    self._close_lifeline()
                holder = self._start(Streams(order, out, err, status_end, folder, sending))
            try:
                self._give(giving, holder.order)
                ended = self._collect({stdout: arrived.stdout, stderr: arrived.stderr, status: arrived.report}, arrived)
                report = read_report(arrived.report)
            finally:
                self._close_lifeline()
                # The kernel keeps count of what it has ended for want of memory.
                unusable = not (ended and report.started) or report.cause == "memory"
                died = holder.end(used_up=unusable or self._was_hit(arrived, report))
        report.layers += holder.layers
        return self._result(arrived, report, time.monotonic() - began, died)

    def _was_hit(self, arrived: _Received, report: SandboxReport) -> bool:
        """Whether a signal from outside seems to have ended the program: what holds it may be dying, too."""
        if self._stopped or arrived.overflow or report.cause:
            return False
        return report.end is None or ended_from_outside("killed", os.waitstatus_to_exitcode(int(report.end.split()[0])))

    def _forward(self, ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> int:
        """Forward the ports until ``ours`` is closed; the descriptor where the sandbox sends its sockets."""
        arriving, sending = socket.socketpair()
        theirs.callback(sending.close)
        ours.callback(Forwarder(arriving, self._ports).close)
        return sending.fileno()

    def _start(self, streams: Streams) -> Holder:
        if self._script is not None:
            return lease(self._spec, self._setup, self._script, self._numbers, streams, lambda: self._stopped)
        return NewProcess({**self._spec, **self._numbers, **self._executed}, self._setup, streams)

    def _give(self, giving: FileIO, first: Mapping[str, Any] | None) -> None:
        """Write the order and close its end: what a fresh process has to know first, and what the program reads."""
        content = b""
        for message in filter(None, (first, self._given)):
            part = marshal.dumps(dict(message))
            content += len(part).to_bytes(8, "little") + part
        left = memoryview(content)
        with contextlib.suppress(BrokenPipeError), giving:  # it died: its report says why
            while left:
                left = left[giving.write(left) :]

    def _collect(self, kept: Mapping[int, bytearray], seen: _Received) -> bool:
        """Read everything until all writers have ended; what exceeds the limit is read and dropped. False if they do
        not end in time."""
        most = self._limits.wall_seconds + _GRACE + self._limits.disk_bytes / _KEEPING
        until = time.monotonic() + most
        with selectors.DefaultSelector() as selector:
            for descriptor, buffer in kept.items():
                selector.register(descriptor, selectors.EVENT_READ, buffer)
            while selector.get_map():
                left = until - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in selector.select(left):
                    part = os.read(key.fd, _CHUNK)
                    if not part:
                        selector.unregister(key.fd)
                    elif key.data is seen.report:
                        seen.report += part
                    else:
                        room = self._limits.output_bytes - len(seen.stdout) - len(seen.stderr)
                        key.data.extend(part[: max(room, 0)])
                        if len(part) > room and not seen.overflow:
                            seen.overflow = True
                            self._close_lifeline()
        return True

    def _result(self, arrived: _Received, report: SandboxReport, seconds: float, holder: int | None) -> SandboxResult:
        if report.fault:
            raise SandboxFault(f"the sandbox could not start the code: {report.fault}", cause="sandbox")
        if report.lost:
            lost = f"the files that the code left could not be copied back: {report.lost}"
            raise SandboxFault(lost, cause="no room")
        if not report.started and report.cause != "timeout" and not self._stopped:
            ended = f"its process {ending(holder)}" if holder is not None else "no reason given"
            detail = arrived.stderr.decode("utf-8", "replace").strip()[-300:] or ended
            raise SandboxFault(f"the sandbox ended before the code began: {detail}", cause="sandbox")
        stdout, stderr = (bytes(part).decode("utf-8", "replace") for part in (arrived.stdout, arrived.stderr))
        status, reason, code = verdict(
            report, stderr, self._limits, self._numbers["cpu_seconds"], overflow=arrived.overflow, holder=holder
        )
        late = report.cause in ("step", "steps")
        layers, answers, notes = tuple(report.layers), tuple(report.answers), tuple(report.notes)
        return SandboxResult(status, reason, stdout, stderr, code, seconds, layers, answers, report.ready, late, notes)


def _pipe(reading: contextlib.ExitStack, writing: contextlib.ExitStack) -> tuple[int, int]:
    """The ends of a pipe, which these close."""
    ends = os.pipe()
    for stack, end in zip((reading, writing), ends, strict=True):
        stack.callback(os.close, end)
    return ends


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new empty folder below ``parent`` (the system's temporary folder if None); it is gone at the end."""
    if parent is None:
        with OwnFolder("code") as folder:
            yield folder
        return
    folder = Path(tempfile.mkdtemp(prefix="code-", dir=parent))
    try:
        yield folder
    finally:
        remove_tree(folder)
