"""Process L: starts the confined processes, watches them from outside, and ends everything when AgentGauge ends.

Standard input carries the order (8 bytes of length, then a marshalled dict) and stays open as a life line: when its
other end closes, because AgentGauge closes it or has died, everything here ends.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

from . import linux, watch
from .confine import SIGKILL, Report, enter_namespaces, run_as_first
from .ends import Ends
from .folder import Folder, NotKept
from .steps import Steps
from .usage import Processes

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from .confine import Spec

_FIRST_OWN_UID = 1_000_000_000
"""User ids from here on are unused; this one plus our process id is shared with no other sandbox."""


def main() -> None:
    spec: Spec = marshal.loads(_read(int.from_bytes(_read(8), "little")))
    report = Report(spec["status_fd"])
    try:
        _supervise(spec, report)
    except BaseException as error:
        report.send("fault", f"{type(error).__name__}: {error}")
    os._exit(0)  # 2 ms sooner than by returning


def _read(size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = os.read(0, size - len(content))
        if not part:
            sys.exit(1)
        content += part
    return content


def _supervise(spec: Spec, report: Report) -> None:
    deadline = time.monotonic() + spec["wall_seconds"]
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    pid_ns, mount_ns = (False, False) if spec["outer"] else enter_namespaces(spec["refuse"], report)
    folder, uid = _own_folder(spec) if mount_ns else (None, None)
    steps = Steps(spec["steps"], spec["stdin"], spec["output_bytes"], report.write) if spec["steps"] else None
    ends = Ends(steps)
    first = os.fork()
    if first == 0:
        try:
            run_as_first(spec, report, ends, pid_ns=pid_ns, mount_ns=mount_ns, uid=uid)
        except BaseException as error:
            report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(1)
    ends.leave_to_program()
    proc = ends.take_proc()
    if spec["outer"]:
        # Bubblewrap has made it: it shows the sandbox only.
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    processes = Processes(first, proc)
    for kind, text in watch.until_the_end(spec, ends, processes, folder, deadline):
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


def _own_folder(spec: Spec) -> tuple[Folder, int | None]:
    """The folder in memory, and the user id that the program gets, if it can have one: as root, where such a user
    can be."""
    if os.geteuid() == 0:
        uid = _FIRST_OWN_UID + os.getpid()
        try:
            return Folder(spec["folder"], spec["disk_bytes"], uid), uid
        except OSError:  # a container with few user ids
            pass
    return Folder(spec["folder"], spec["disk_bytes"], None), None


def _kill_descendants() -> None:
    """End what is left. As sub-reaper we inherit every orphan, also those that made a session of their own."""
    everything = Processes(os.getpid(), None)
    while True:
        for child, parent in everything.parents().items():
            if parent == os.getpid():
                os.kill(child, SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
