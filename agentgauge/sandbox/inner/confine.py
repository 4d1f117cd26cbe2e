"""Processes I and T: build the confinement for the code.

Process I is process 1 of the PID namespace where there is one; when it ends, the kernel ends all that is left inside.
Process T is its child and gives up its remaining rights; the code that called it then becomes the program.
"""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH123
from __future__ import annotations

import fcntl
import os
import resource
import socket

from . import linux, mounts
from .mounts import SHARED

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, NoReturn

    Spec = Mapping[str, Any]


SIGKILL = 9
_SIGINT, _SIGPIPE, _SIGXFSZ = 2, 13, 25
OF_THE_HOST = {"net_ns": linux.CLONE_NEWNET, "uts_ns": linux.CLONE_NEWUTS}
"""Optional namespaces: without them seccomp still refuses sockets."""
_FIRST_VICTIM = b"1000"  # the highest out-of-memory score
_MFD_ALLOW_SEALING, _ADD_SEALS, _SEALS = 2, 1033, 15  # no further seal, no shrinking, no growing, no writing


class ReportLines:
    """Lines of text to AgentGauge.

    Before the program: ``layer NAME``, ``fault TEXT``, ``start``, ``refused TEXT`` (it cannot be executed). From
    process L after that: ``ready``, ``answer BYTES BUSY_SECONDS`` with the answer behind it, ``cause WORD``, ``end
    STATUS CPU_SECONDS``, ``lost TEXT``, ``note TEXT``.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def send(self, kind: str, text: str) -> None:
        line = f"{kind} {text}".replace("\n", " ")[:2000] + "\n"
        os.write(self._descriptor, line.encode("utf-8", "replace"))  # shorter than PIPE_BUF, so never mixed up

    def write(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(self._descriptor, view) :]


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


def enter_namespaces(refuse: tuple[str, ...], report: ReportLines) -> tuple[bool, bool]:
    """Whether the next child is process 1 of a new PID namespace, and whether this process has its own mounts."""
    if "namespaces" in refuse:
        return False, False
    try:
        enter_user_namespace(report)
        linux.unshare(linux.CLONE_NEWPID)
    except OSError:
        return False, False
    report.send("layer", "pid_ns")
    if "mount_ns" in refuse or not unshared(linux.CLONE_NEWNS):
        return True, False
    mounts.make_private()
    return True, True


def enter_user_namespace(report: ReportLines) -> None:
    """Other namespaces need a user namespace, except for root."""
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        return
    linux.unshare(linux.CLONE_NEWUSER)
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    report.send("layer", "user_ns")


def run_as_first(
    spec: Spec, report: ReportLines, connections: Connections, *, pid_ns: bool, mount_ns: bool, uid: int | None
) -> None:
    """Process I; returns in process T only. ``uid``: a user id that only T has, or None; only root can set one."""
    linux.prctl(linux.PR_SET_PDEATHSIG, SIGKILL)
    linux.default_signal(_SIGINT)  # process 1 is out of reach of signals from inside, unless it handles them
    own_network = False
    if pid_ns:
        # Process S has made the others, for programs that cannot use them.
        flags = {} if spec["prepared"] else OF_THE_HOST
        for name, flag in {**flags, "ipc_ns": linux.CLONE_NEWIPC}.items():
            if not (name == "net_ns" and spec["network"]) and unshared(flag):
                report.send("layer", name)
                own_network = own_network or name == "net_ns"
    if spec["ports"]:
        if not own_network:
            raise OSError("the kernel refuses a network of its own, which the program's ports need")
        hand_out_ports(spec["ports"], spec["ports_fd"])
    danger = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    proc = None
    devices = mounts.devices(counted=spec["counted"])
    if mount_ns:
        linux.unshare(linux.CLONE_NEWNS)  # process L keeps the host's files, to bring back what the program leaves
        proc = mounts.open_own_proc()
        if spec["prepared"]:
            mounts.leave_host_proc()
        else:
            mounts.build_root(spec["mounts"], spec["folder"], devices, own_proc=spec["own_proc"])
        report.send("layer", "mount_ns")
    connections.hand_over(proc)
    shown = [target for source, target in spec["mounts"] if source]
    if mount_ns and spec["own_proc"]:
        shown.append("/proc")
    readable, listed = (shown, []) if mount_ns else (spec["readable"], spec["listed"])
    stdin = None if connections.program else connections.take_stdin()
    # Without a PID namespace, and as root without a user id of its own, nothing else bounds or gathers processes.
    alone = not pid_ns or (os.geteuid() == 0 and uid is None)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)  # where the program has our user id, it must not trace us
    ours = os.read(danger, 10)
    # The program inherits it: where memory runs out, neither this process nor AgentGauge's is to end.
    os.pwrite(danger, _FIRST_VICTIM, 0)
    child = os.fork()
    if child == 0:
        try:
            for number, descriptor in enumerate(connections.program if stdin is None else [stdin]):
                os.dup2(descriptor, number)
            writable = [spec["folder"], SHARED] if mount_ns else [spec["folder"]]
            own_files = mount_ns  # else a UNIX socket of the host could be reached
            unix_sockets = bool(spec["unix_sockets"]) and own_files and own_network
            paths = (readable, listed, writable, devices)
            _confine(spec, report, paths, uid=uid, alone=alone, unix_sockets=unix_sockets)
            report.send("start", "")
        except BaseException as error:
            refuse(report, error)
        connections.close()
        return
    os.pwrite(danger, ours, 0)
    connections.leave_to_program()
    while True:
        found, status, usage = os.wait3(0)
        if found == child:
            os.write(connections.ending, f"{status} {usage.ru_utime + usage.ru_stime:.3f}".encode())
            os._exit(0)


def refuse(report: ReportLines, error: BaseException) -> NoReturn:
    """The program cannot be started."""
    report.send("refused", f"{type(error).__name__}: {error}")
    os._exit(127)


def unshared(flag: int) -> bool:
    try:
        linux.unshare(flag)
    except OSError:
        return False
    return True


def _confine(
    spec: Spec,
    report: ReportLines,
    paths: tuple[Iterable[str], Iterable[str], Iterable[str], Iterable[str]],
    *,
    uid: int | None,
    alone: bool,
    unix_sockets: bool,
) -> None:
    """Process T: give up rights in the order in which each step still has the right to happen. ``paths``: those of
    ``linux.restrict_files``."""
    os.setsid()
    os.chdir(spec["folder"])
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        report.send("layer", "own_uid")
    elif os.geteuid() == 0 or spec["prepared"]:  # what is executed as an ordinary user loses them by that
        linux.drop_capabilities()
        report.send("layer", "no_capabilities")
    linux.prctl(linux.PR_SET_PDEATHSIG, SIGKILL)  # a change of user id has cleared it
    linux.prctl(linux.PR_SET_DUMPABLE, 1)  # as in an executed program: the watching process may read its /proc
    _limits(spec, report)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    report.send("layer", "no_new_privs")
    found, network = 0, bool(spec["network"] or spec["ports"])
    if "landlock" not in spec["refuse"]:
        found = linux.restrict_files(*paths, network=network)
        if found:
            report.send("layer", "landlock")
            if found >= linux.FIRST_WITH_TCP and not network:
                report.send("layer", "landlock_tcp")
    if not spec["prepared"]:  # else this interpreter goes on, with what it has set
        for number in (_SIGPIPE, _SIGXFSZ):
            linux.default_signal(number)
    filtered = "seccomp" not in spec["refuse"] and linux.restrict_calls(
        alone=alone, network=network, unix_sockets=unix_sockets, counted=spec["counted"]
    )
    if filtered:
        report.send("layer", "seccomp")
        if alone:
            report.send("layer", "single_process")


def sealed_file(content: bytes) -> int:
    """The program's standard input: the given bytes, then the end. It is a file in memory, so no process has to write
    to a pipe. It is sealed, because otherwise the program could use the file as memory that is not counted.
    """
    descriptor = os.memfd_create("stdin", _MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    fcntl.fcntl(descriptor, _ADD_SEALS, _SEALS)
    return descriptor


def _limits(spec: Spec, report: ReportLines) -> None:
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


_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # of a network interface
_BACKLOG = 128


def hand_out_ports(ports: Sequence[int], sending: int) -> None:
    """Listen at these ports of 127.0.0.1, and send the sockets to AgentGauge. Call in a network of its own.

    A socket stays in the network in which it was made. So a connection to one of these ports inside arrives at
    AgentGauge, and the program needs no other network and no forwarding process. Raises OSError.
    """
    import socket  # 4 ms, for programs with ports only

    listening = []
    _start_loopback()
    for port in ports:
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.append(opened)
        opened.bind(("127.0.0.1", port))
        opened.listen(_BACKLOG)
    with socket.socket(fileno=sending) as link:
        socket.send_fds(link, [b"."], [opened.fileno() for opened in listening])
    for opened in listening:  # the program gets none
        opened.close()


def _start_loopback() -> None:
    """A new network has an interface lo, which is down."""
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16s24x", b"lo"))
        flags = struct.unpack_from("h", found, 16)[0]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _UP))
