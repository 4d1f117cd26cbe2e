"""Process L: starts the confined processes, keeps the time limit, and ends everything when the harness goes away.

Standard input carries the order (8 bytes of length, then a marshalled dict) and stays open as a life line: when its
other end closes, because the harness says so or has died, everything here ends.
"""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH116, PTH123, PTH208
from __future__ import annotations

import marshal
import os
import select
import sys
import time

from . import linux
from .confine import SIGKILL, Report, enter_user_and_pid_namespace, run_as_first, take_back

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from .confine import Spec

_FIRST_OWN_UID = 1_000_000_000
"""User ids from here on belong to nobody; this one plus our process id is shared with no other sandbox."""


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
    owner = os.stat(spec["folder"])
    uid = _FIRST_OWN_UID + os.getpid()
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    pid_ns = False if spec["outer"] else enter_user_and_pid_namespace(spec["refuse"], report)
    ended, ending = os.pipe()
    first = os.fork()
    if first == 0:
        try:
            run_as_first(spec, report, pid_ns=pid_ns, uid=uid)
        except BaseException as error:
            report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(1)
    os.close(ending)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(ended, select.POLLIN)
    ready = poll.poll(max(0, int((deadline - time.monotonic()) * 1000)))
    if not ready:
        report.send("cause", "timeout")
    os.kill(first, SIGKILL)
    os.waitpid(first, 0)
    if not pid_ns:
        _kill_descendants()
    if os.geteuid() == 0:
        take_back(spec["folder"], uid, owner)


def _kill_descendants() -> None:
    """End what is left. As sub-reaper we inherit every orphan, also those that made a session of their own."""
    while True:
        for child in _children(os.getpid()):
            os.kill(child, SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            if int(fields[1]) == parent:
                found.append(int(name))
    return found
