"""System calls that Python 3.11 does not offer, through ctypes, and the two layers that are made of them: Landlock and
the seccomp filter. Every failure is an OSError with the kernel's errno.
"""

from __future__ import annotations

import ctypes
import functools
import os
import stat

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable


CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

_CAPABILITY_VERSION = 0x20080522
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object) -> int:
    """A raw system call. Integers are passed as 64 bits: the default of ctypes would cut them to 32."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check(_libc.syscall(ctypes.c_long(number), *wide), f"system call {number}")


def prctl(option: int, value: int = 0, pointer: object = None) -> int:
    return _check(_libc.prctl(option, ctypes.c_ulong(value), pointer, 0, 0), f"prctl({option})")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), f"mount({target})")


def umount(target: str, flags: int) -> None:
    _check(_libc.umount2(os.fsencode(target), flags), f"umount({target})")


def default_signal(number: int) -> None:
    """Restore the default action. (The module ``signal`` would cost 4 ms to import.)"""
    _libc.signal(number, None)


def drop_capabilities() -> None:
    """Give up every capability for good, also for programs that are started later."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # beyond the last capability of this kernel, or no right to drop: capset below still works
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    syscall(_SYS_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref(sets))


# -- Landlock: a process gives up access to all files but the ones named, and to TCP. Linux 5.13; TCP from 6.7
#
# The numbers are those of ``linux/landlock.h``; the system calls have the same numbers on every architecture.

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_CREATE_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_READ_ONLY = _EXECUTE | _READ_FILE | _READ_DIR
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract UNIX sockets and signals stay inside

FIRST_WITH_TCP = 4
FIRST_WITH_SCOPES = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_version() -> int:
    """The version that the kernel offers, 0 where it offers none."""
    try:
        return syscall(_CREATE, None, 0, _CREATE_VERSION)
    except OSError:
        return 0


def restrict_files(
    read_only: Iterable[str],
    listed: Iterable[str],
    read_write: Iterable[str],
    devices: Iterable[str],
    *,
    network: bool = False,
) -> int:
    """Restrict this process and its children for good; paths that do not exist are left out.

    ``listed``: folders of which the names may be read, also of what lies deeper. ``network`` leaves TCP alone.
    Needs no_new_privs. Gives the version in force, 0 where the kernel has none.
    """
    found = landlock_version()
    if not found:
        return 0
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(found, 16)
    everything = (1 << bits) - 1
    rules = _Ruleset(
        everything, _TCP if found >= FIRST_WITH_TCP and not network else 0, _SCOPES if found >= FIRST_WITH_SCOPES else 0
    )
    size = 24 if found >= FIRST_WITH_SCOPES else 16 if found >= FIRST_WITH_TCP else 8
    ruleset = syscall(_CREATE, ctypes.byref(rules), size, 0)
    writing = everything & ~(_MAKE_CHAR | _MAKE_BLOCK | _EXECUTE)
    for paths, allowed in (
        (read_only, _READ_ONLY),
        (listed, _READ_DIR),
        (read_write, writing),
        (devices, _READ_FILE | _WRITE_FILE),
    ):
        for path in paths:
            _allow(ruleset, path, allowed & everything)
    syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)
    return found


def _allow(ruleset: int, path: str, allowed: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(parent).st_mode):
        allowed &= _OF_A_FILE
    rule = _PathBeneath(allowed, parent)
    syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(parent)


# -- the seccomp filter: system calls that honest code does not need fail with EPERM
#
# Written as a plain BPF program, so it needs no package and no libseccomp. x86-64 and arm64; elsewhere the layer is
# reported missing.
#
# What is refused: sockets (``socketpair`` stays, asyncio needs it; ``network`` lets IPv4 and IPv6 pass,
# ``unix_sockets`` UNIX sockets, which could reach a service of the host where the program sees the host's files), new
# namespaces and mounts, reaching into other processes and setting their limits, io_uring (it would go round this
# filter), kernel keys, BPF, clocks and modules; and memory that outlives or escapes what is counted as a process's own:
# System V IPC, memfd, huge pages, pages put into pipes. Unless ``counted``, the kernel counts no memory for all
# processes together, and anonymous memory that they share is refused as well. ``alone`` refuses new processes (threads
# stay), every call that reaches another process, and what would hide open files from the watcher; it is used where
# there is no PID namespace to hold the processes together.

# (x86-64, arm64); None where the architecture does not have the call.
_NEVER = {
    "ptrace": (101, 117),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "vmsplice": (278, 75),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
}
_NEVER_ALONE = {
    "fork": (57, None),
    "vfork": (58, None),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sendmsg": (46, 211),  # descriptors could be sent, and no process would hold them
    "sendmmsg": (307, 269),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
_SOCKET = (41, 198)
_CLONE, _CLONE3 = (56, 220), (435, 435)
_KILL, _TGKILL, _PRLIMIT64 = (62, 129), (234, 131), (302, 261)
_MMAP, _PRCTL = (9, 222), (157, 167)
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_UNIX, _INET, _INET6 = 1, 2, 10  # families of sockets
_CLONE_NEW_ANYTHING = 0x7E020000
_CLONE_THREAD = 0x00010000
_MAP_SHARED, _MAP_ANONYMOUS, _MAP_HUGETLB = 0x01, 0x20, 0x40000
_PR_SET_DUMPABLE = 4
_X32_BIT = 0x40000000
_EPERM, _ENOSYS = 1, 38

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL_PROCESS, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
# Offsets in struct seccomp_data; of an argument, the low half.
_NUMBER, _ARCH, _FIRST_ARGUMENT, _FOURTH_ARGUMENT = 0, 4, 16, 40

_Step = tuple[int, int, int, int]  # code, jump if true, jump if false, value


def filter_program(
    machine: str, *, alone: bool, pid: int, network: bool = False, unix_sockets: bool = False, counted: bool = False
) -> list[_Step]:
    """The filter for one architecture. ``pid`` is the process that may be signalled when ``alone``; ``network`` lets
    it use IP sockets, ``unix_sockets`` UNIX sockets."""
    which, audit = _ARCHITECTURES[machine]
    refuse = (_RETURN, 0, 0, _ERRNO | _EPERM)
    steps: list[_Step] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32_BIT), refuse]
    refused = _NEVER | (_NEVER_ALONE if alone else {})
    for numbers in refused.values():
        if (number := numbers[which]) is not None:
            steps += [(_EQUAL, 0, 1, number), refuse]
    # Its flags lie in memory, where a filter cannot look; on ENOSYS the C library falls back to clone.
    steps += [(_EQUAL, 0, 1, _CLONE3[which]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    allow = (_RETURN, 0, 0, _ALLOW)
    argument = (_LOAD, 0, 0, _FIRST_ARGUMENT)
    families = [*([_UNIX] if unix_sockets else []), *([_INET, _INET6] if network else [])]
    if families:
        steps += [(_EQUAL, 0, len(families) + 3, _SOCKET[which]), argument]
        steps += [(_EQUAL, len(families) - place, 0, family) for place, family in enumerate(families[:-1], start=1)]
        steps += [(_EQUAL, 0, 1, families[-1]), allow, refuse]
    else:
        steps += [(_EQUAL, 0, 1, _SOCKET[which]), refuse]
    steps += [(_EQUAL, 0, 4, _PRLIMIT64[which]), argument, (_EQUAL, 0, 1, 0), allow, refuse]
    flags = (_LOAD, 0, 0, _FOURTH_ARGUMENT)
    if counted:
        steps += [(_EQUAL, 0, 4, _MMAP[which]), flags, (_ANY_BIT, 0, 1, _MAP_HUGETLB), refuse, allow]
    else:
        steps += [(_EQUAL, 0, 6, _MMAP[which]), flags, (_ANY_BIT, 2, 0, _MAP_HUGETLB)]
        steps += [(_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_ANY_BIT, 0, 1, _MAP_SHARED), refuse, allow]
    if alone:
        steps += [(_EQUAL, 0, 5, _CLONE[which]), argument, (_ANY_BIT, 2, 0, _CLONE_NEW_ANYTHING)]
        steps += [(_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
        for numbers in (_KILL, _TGKILL):
            steps += [(_EQUAL, 0, 4, numbers[which]), argument, (_EQUAL, 0, 1, pid), allow, refuse]
        steps += [(_EQUAL, 0, 4, _PRCTL[which]), argument, (_EQUAL, 0, 1, _PR_SET_DUMPABLE), refuse, allow]
    else:
        steps += [(_EQUAL, 0, 4, _CLONE[which]), argument, (_ANY_BIT, 0, 1, _CLONE_NEW_ANYTHING), refuse, allow]
    return [*steps, allow]


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("true", ctypes.c_uint8),
        ("false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Instruction)))


@functools.lru_cache(maxsize=1)
def _compiled(machine: str, *, alone: bool, pid: int, network: bool, unix_sockets: bool, counted: bool) -> _Program:
    steps = filter_program(machine, alone=alone, pid=pid, network=network, unix_sockets=unix_sockets, counted=counted)
    return _Program(len(steps), (_Instruction * len(steps))(*(_Instruction(*step) for step in steps)))


def restrict_calls(*, alone: bool, network: bool, counted: bool, unix_sockets: bool = False, now: bool = True) -> bool:
    """Put the filter in force for this process and its children. Needs no_new_privs. False where it cannot be.

    ``now`` False: only prepare it, for the processes that this one forks.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        return False
    signalled = os.getpid() if alone else 0
    filter_ = _compiled(
        machine, alone=alone, pid=signalled, network=network, unix_sockets=unix_sockets, counted=counted
    )
    try:
        if now:
            prctl(PR_SET_SECCOMP, 2, ctypes.byref(filter_))
    except OSError:
        return False
    return True
