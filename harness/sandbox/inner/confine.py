"""Processes I and T: build the confinement, then become the code.

Process I is process 1 of the PID namespace where there is one; when it ends, the kernel ends all that is left inside.
Process T is its child, gives up what is left of its rights, and becomes the program.
"""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH123
from __future__ import annotations

import os
import resource
import select

from . import landlock, linux, mounts, seccomp, watch

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, NoReturn

    Spec = Mapping[str, Any]

SIGKILL = 9
_SIGINT, _SIGPIPE, _SIGXFSZ = 2, 13, 25
_PATH_MAX = 4096  # bytes, the final zero included
_TICK = 0.1  # seconds between two looks at memory and disk


class Report:
    """Lines of text to the harness: ``layer NAME``, ``fault TEXT``, ``cause WORD``, ``end STATUS CPU_SECONDS``."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def send(self, kind: str, text: str) -> None:
        line = f"{kind} {text}".replace("\n", " ")[:2000] + "\n"
        os.write(self._descriptor, line.encode("utf-8", "replace"))  # shorter than PIPE_BUF, so never mixed up


def enter_user_and_pid_namespace(refuse: tuple[str, ...], report: Report) -> bool:
    """True if the next child is process 1 of a new PID namespace. Root needs no user namespace for it."""
    if "namespaces" in refuse:
        return False
    user, group = os.geteuid(), os.getegid()
    try:
        if user == 0:
            linux.unshare(linux.CLONE_NEWPID)
        else:
            linux.unshare(linux.CLONE_NEWUSER | linux.CLONE_NEWPID)
            for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
                with open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
            report.send("layer", "user_ns")
    except OSError:
        return False
    report.send("layer", "pid_ns")
    return True


def run_as_first(spec: Spec, report: Report, *, pid_ns: bool, uid: int) -> NoReturn:
    """Process I. ``uid`` is the user id that is T's alone if it can be had; it can be had by root only."""
    linux.prctl(linux.PR_SET_PDEATHSIG, SIGKILL)
    linux.default_signal(_SIGINT)  # process 1 is out of reach of signals from inside, unless it handles them
    refuse = spec["refuse"]
    mount_ns = bwrap = "bubblewrap" in spec["outer"]
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if bwrap else None  # it shows the namespace only
    if not bwrap and "namespaces" not in refuse:
        for name, flag in (("net_ns", linux.CLONE_NEWNET), ("ipc_ns", linux.CLONE_NEWIPC), ("uts_ns", linux.CLONE_NEWUTS)):
            if flag == linux.CLONE_NEWNET and spec["network"]:
                continue
            if _unshared(flag):
                report.send("layer", name)
        if "mount_ns" not in refuse and _unshared(linux.CLONE_NEWNS):
            mounts.make_private()
            proc = mounts.open_own_proc() if pid_ns else None
            mounts.build_root(spec["mounts"], spec["folder"])
            report.send("layer", "mount_ns")
            mount_ns = True
    own_uid = uid if os.geteuid() == 0 and mount_ns and _give(spec["folder"], uid) else None
    # Without a PID namespace, and as root without a user id of its own, nothing else bounds or gathers processes.
    alone = not (pid_ns or bwrap) or (os.geteuid() == 0 and own_uid is None)
    child = os.fork()
    if child == 0:
        try:
            _become(spec, report, uid=own_uid, alone=alone, mount_ns=mount_ns)
        except BaseException as error:
            report.send("fault", f"{type(error).__name__}: {error}")
        os._exit(127)
    _wait(child, spec, report, proc)
    os._exit(0)


def _unshared(flag: int) -> bool:
    try:
        linux.unshare(flag)
    except OSError:
        return False
    return True


def _give(folder: str, uid: int) -> bool:
    """Hand the folder to the sandbox's own user. False if there is no such user here (a container with few ids)."""
    try:
        change_owner(folder, uid, uid)
    except OSError:
        return False
    return True


def change_owner(folder: str, uid: int, gid: int) -> None:
    """Give a tree to a user. Links are not followed. Raises OSError where that user cannot exist."""
    os.chown(folder, uid, gid)
    for entry in _entries(folder):
        os.chown(entry.path, uid, gid, follow_symlinks=False)


def take_back(folder: str, uid: int, owner: os.stat_result) -> None:
    """Give what the sandbox's user has left to the folder's owner. What is nested too deep for a path is left alone."""
    if os.lstat(folder).st_uid == uid:
        os.chown(folder, owner.st_uid, owner.st_gid)
    for entry in _entries(folder):
        if entry.stat(follow_symlinks=False).st_uid == uid:
            os.chown(entry.path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            for entry in found:
                if len(os.fsencode(entry.path)) >= _PATH_MAX:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                yield entry


def _wait(child: int, spec: Spec, report: Report, proc: int | None) -> None:
    """Reap until the code has ended or used too much."""
    try:
        ended: int | None = os.pidfd_open(child)
    except OSError:
        ended = None
    poll = select.poll()
    if ended is not None:
        poll.register(ended, select.POLLIN)
    while True:
        poll.poll(int((_TICK if ended is not None else 0.01) * 1000))
        while True:
            found, status, usage = os.wait4(-1, os.WNOHANG)
            if found == child:
                report.send("end", f"{status} {usage.ru_utime + usage.ru_stime:.3f}")
                return
            if found == 0:
                break
        if proc is not None and watch.memory_of_all(proc) > spec["memory_bytes"]:
            report.send("cause", "memory")
            return
        if watch.size_of_tree(spec["folder"], spec["disk_bytes"]) >= spec["disk_bytes"]:
            report.send("cause", "disk")
            return


def _become(spec: Spec, report: Report, *, uid: int | None, alone: bool, mount_ns: bool) -> NoReturn:
    """Process T: give up rights in the order in which each step still has the right to happen, then execute."""
    os.setsid()
    os.chdir(spec["folder"])
    _stdin(spec["stdin"])
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        report.send("layer", "own_uid")
    elif os.geteuid() == 0:
        linux.drop_capabilities()
        report.send("layer", "no_capabilities")
    linux.prctl(linux.PR_SET_PDEATHSIG, SIGKILL)  # a change of user id has cleared it
    _limits(spec, report)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    report.send("layer", "no_new_privs")
    found = 0
    if "landlock" not in spec["refuse"]:
        shown = [target for source, target in spec["mounts"] if source]
        readable, listed = (shown, ()) if mount_ns else (spec["readable"], spec["listed"])
        found = landlock.restrict(readable, listed, [spec["folder"]], mounts.DEVICES, network=spec["network"])
        if found:
            report.send("layer", "landlock")
            if found >= landlock.FIRST_WITH_TCP and not spec["network"]:
                report.send("layer", "landlock_tcp")
    for number in (_SIGPIPE, _SIGXFSZ):
        linux.default_signal(number)
    filtered = "seccomp" not in spec["refuse"] and seccomp.restrict(alone=alone, network=spec["network"])
    if filtered:
        report.send("layer", "seccomp")
        if alone:
            report.send("layer", "single_process")
    report.send("start", "")
    os.execve(spec["argv"][0], spec["argv"], spec["env"])


def _stdin(content: bytes) -> None:
    """The program's standard input: what was given, then the end. A file in memory, so nobody has to feed a pipe."""
    descriptor = os.memfd_create("stdin")
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, 0)
    os.close(descriptor)


def _limits(spec: Spec, report: Report) -> None:
    cpu = int(spec["cpu_seconds"]) or 1
    for kind, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_AS, spec["memory_bytes"], spec["memory_bytes"]),
        (resource.RLIMIT_FSIZE, spec["file_bytes"], spec["file_bytes"]),
        (resource.RLIMIT_NPROC, spec["processes"], spec["processes"]),
        (resource.RLIMIT_NOFILE, 256, 256),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        ceiling = resource.getrlimit(kind)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(kind, (soft, hard))
    report.send("layer", "rlimits")
