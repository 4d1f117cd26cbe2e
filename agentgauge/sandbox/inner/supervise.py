"""Process L: starts the confined processes, watches them from outside, and ends everything when AgentGauge ends.

Standard input carries two messages, each 8 bytes of length and a marshalled dict: how to confine the program, then what
it reads. It stays open as a life line: when its other end closes, because AgentGauge closes it or has died, everything
here ends. Process T does not know the second message: the program gets it piece by piece, or as its standard input.
"""

from __future__ import annotations

import marshal
import os
import time

from . import linux, watch
from .confine import SIGKILL, Connections, ReportLines, enter_namespaces, refuse, run_as_first, sealed_file
from .mounts import Folder, NotKept

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from typing import Any

    from .confine import Spec


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
        steps = watch.StepFeed(given["steps"], given["stdin"], spec["output_bytes"], report.write, connections)
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
