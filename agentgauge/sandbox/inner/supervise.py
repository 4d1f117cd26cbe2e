"""Process L: starts the confined processes, watches them from outside, and ends everything when AgentGauge ends.

Standard input carries two messages, each 8 bytes of length and a marshalled dict: how to confine the program, then what
it reads. It stays open as a life line: when its other end closes, because AgentGauge closes it or has died, everything
here ends. Process T does not know the second message: the program gets it piece by piece, or as its standard input.
"""

from __future__ import annotations

import marshal
import os
import socket
import time

from . import linux, watch
from .confine import SIGKILL, ReportLines, enter_namespaces, refuse, run_as_first, sealed_file
from .mounts import Folder, NotKept

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .confine import Spec
    from .watch import Clock


_FIRST_OWN_UID = 1_000_000_000
"""User ids from here on are unused; this one plus our process id is shared with no other sandbox."""


def main() -> None:
    """Process L for a program that is executed."""
    spec = _receive()
    report = ReportLines(spec["status_fd"])
    try:
        open_events(spec)
        pid_ns, mount_ns = enter_namespaces(spec["refuse"], report)
        supervise(spec, report, pid_ns=pid_ns, mount_ns=mount_ns)
    except BaseException as error:
        report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(1)
    try:
        os.execve(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        refuse(report, error)


def open_events(spec: dict[str, Any]) -> None:
    """The control group's file, before it is out of sight."""
    if spec["counted"]:
        spec["events"] = os.open(spec["events"], os.O_RDONLY | os.O_CLOEXEC)


def _receive() -> dict[str, Any]:
    found: dict[str, Any] = marshal.loads(_read(int.from_bytes(_read(8), "little")))
    return found


def _read(size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = os.read(0, size - len(content))
        if not part:
            os._exit(1)  # AgentGauge has ended, or ends this program
        content += part
    return content


def supervise(spec: Spec, report: ReportLines, *, pid_ns: bool, mount_ns: bool, outside: int | None = None) -> None:
    """Run a program to its end and leave; returns in the process that is to become the program.

    ``outside``: a descriptor of the program's folder, where ``spec["folder"]`` is not its path.
    """
    deadline = time.monotonic() + spec["wall_seconds"]
    spec = {**spec, "ended_before": watch.ended(spec["events"]) if spec["counted"] else 0}
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    folder, uid = _own_folder(spec, outside) if mount_ns else (None, None)
    connections = Connections(steps=spec["steps"])
    first = os.fork()
    if first == 0:
        try:
            run_as_first(spec, report, connections, pid_ns=pid_ns, mount_ns=mount_ns, uid=uid)
        except BaseException as error:
            report.send("fault", f"{type(error).__name__}: {error}")
            os._exit(1)
        return
    connections.leave_to_program()
    given = _receive()
    steps = None
    if spec["steps"]:
        steps = StepFeed(given["steps"], given["stdin"], spec["output_bytes"], report.write, connections)
    else:
        connections.give_stdin(sealed_file(given["stdin"]))
    proc = connections.take_proc()
    processes = watch.Processes(first, proc)
    for kind, text in watch.until_the_end(spec, connections, steps, processes, folder, deadline):
        report.send(kind, text)
    os.kill(first, SIGKILL)
    os.waitpid(first, 0)
    if not pid_ns:
        _kill_descendants()
    if folder and spec["keep"]:
        try:
            for note in folder.keep():
                report.send("note", note)
        except NotKept as error:
            report.send("lost", str(error))
    os._exit(0)  # 2 ms sooner than by returning


def _own_folder(spec: Spec, outside: int | None) -> tuple[Folder, int | None]:
    """The folder in memory, and the user id that the program gets, if it can have one: as root, where such a user
    can be."""
    path, size = spec["folder"], spec["disk_bytes"]
    if outside is None:
        outside = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.geteuid() == 0:
        uid = _FIRST_OWN_UID + os.getpid()
        try:
            return Folder(outside, path, size, uid), uid
        except OSError:  # a container with few user ids
            pass
    return Folder(outside, path, size, None), None


def _kill_descendants() -> None:
    """End what is left. As sub-reaper we inherit every orphan, also those that made a session of their own."""
    everything = watch.Processes(os.getpid(), None)
    while True:
        for child, parent in everything.parents().items():
            if parent == os.getpid():
                os.kill(child, SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class Connections:
    """The connections between process L and the processes that it starts."""

    def __init__(self, *, steps: bool) -> None:
        """``steps``: the program gets messages and answers them, see ``steps``."""
        self.ended, self.ending = os.pipe()
        """How the program has ended, from process I."""
        self._ours, self._theirs = socket.socketpair()
        self.feed = self.reading = -1
        """The other ends of the program's standard input and output, where it has steps."""
        self.program: tuple[int, ...] = ()
        if steps:
            stdin, self.feed = os.pipe()
            self.reading, stdout = os.pipe()
            self.program = stdin, stdout

    def hand_over(self, proc: int | None) -> None:
        """Process I sends its /proc, or says that it has none."""
        if proc is None:
            self._theirs.send(b".")
        else:
            socket.send_fds(self._theirs, [b"."], [proc])

    def take_proc(self) -> int | None:
        """The /proc of the sandbox; None where there is none, and if process I has ended before."""
        self._theirs.close()
        os.close(self.ending)
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        return descriptors[0] if descriptors else None

    def give_stdin(self, descriptor: int) -> None:
        """Process L sends what the program reads."""
        socket.send_fds(self._ours, [b"."], [descriptor])
        os.close(descriptor)

    def take_stdin(self) -> int:
        """Process I takes what the program reads."""
        _, descriptors, _, _ = socket.recv_fds(self._theirs, 1, 1)
        return descriptors[0]

    def leave_to_program(self) -> None:
        """Close this process's copies of descriptors that only the program may hold."""
        for descriptor in self.program:
            os.close(descriptor)

    def close(self) -> None:
        """Close all connections, in the program's own process."""
        self._ours.close()
        self._theirs.close()


_HEAD = 8  # bytes that give a message's length
_CHUNK = 1 << 16


class StepFeed:
    """The pieces of one run, and the time that they take."""

    def __init__(
        self, spec: Mapping[str, Any], first: bytes, most: int, send: Callable[[bytes], None], connections: Connections
    ) -> None:
        """``spec``: ``result.Steps`` as a dict. ``most``: bytes of all answers."""
        self._waiting = [first, *spec["inputs"]]
        self._busy, self._total, self._wall = spec["busy_seconds"], spec["total_seconds"], spec["wall_seconds"]
        self._left = most
        self._send = send
        self._out = b""
        self._in = bytearray()
        self._spent = 0.0
        self._timed = False
        self._feed, self.reading = connections.feed, connections.reading
        for descriptor in (self._feed, self.reading):
            os.set_blocking(descriptor, False)
        self._next()

    def _next(self) -> None:
        piece = self._waiting.pop(0)
        self._out = len(piece).to_bytes(_HEAD, "little") + piece

    @property
    def writing(self) -> int | None:
        """The descriptor that takes more of a piece, None if nothing is to be written."""
        return self._feed if self._out else None

    def write(self) -> None:
        """Write what fits; nothing more if the program has closed its end."""
        try:
            self._out = self._out[os.write(self._feed, self._out[:_CHUNK]) :]
        except BlockingIOError:
            pass
        except OSError:
            self._out = b""

    def read(self, clock: Clock) -> str | None:
        """Take in what has been answered. ``done`` after the last answer, ``output`` if it is too much, ``closed``
        if no more can come."""
        try:
            part = os.read(self.reading, _CHUNK)
        except BlockingIOError:
            return None
        if not part:
            return "closed"
        self._in += part
        if len(self._in) < _HEAD:
            return None
        size = int.from_bytes(self._in[:_HEAD], "little")
        if size > self._left:
            return "output"
        if len(self._in) < _HEAD + size:
            return None
        if len(self._in) > _HEAD + size:
            return "closed"  # more than was asked for: these are no answers
        return self._answered(bytes(self._in[_HEAD:]), clock)

    def _answered(self, answer: bytes, clock: Clock) -> str | None:
        self._in.clear()
        self._left -= len(answer)
        if self._timed:
            if over := self.over(clock):
                return over
            busy = clock.read()[1]
            self._spent += busy
            self._send(b"answer %d %.3f\n" % (len(answer), busy) + answer)
        else:
            self._send(b"ready \n")
        if not self._waiting:
            return "done"
        self._timed = True
        clock.start()
        self._next()
        return None

    def over(self, clock: Clock) -> str | None:
        """``step`` if the present step has taken too long, ``steps`` if all of them together have."""
        if not self._timed:
            return None
        wall, busy = clock.read()
        if wall > self._wall or (self._busy is not None and busy > self._busy):
            return "step"
        if self._total is not None and self._spent + busy > self._total:
            return "steps"
        return None
