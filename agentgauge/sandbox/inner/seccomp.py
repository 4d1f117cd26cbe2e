"""A seccomp filter: system calls that honest code does not need fail with EPERM.

Written as a plain BPF program, so it needs no package and no libseccomp. x86-64 and arm64; elsewhere the layer is
reported missing.

What is refused: sockets (``socketpair`` stays, asyncio needs it; ``network`` lets IPv4 and IPv6 pass, ``unix_sockets``
UNIX sockets, which could reach a service of the host where the program sees the host's files), new namespaces and
mounts, reaching into other processes and setting their limits, io_uring (it would go round this filter), kernel keys,
BPF, clocks and modules; and memory that outlives or escapes what is counted as a process's own: System V IPC, memfd,
huge pages, pages put into pipes. Unless ``counted``, the kernel counts no memory for all processes together, and
anonymous memory that they share is refused as well. ``alone`` refuses new processes (threads stay), every call that
reaches another process, and what would hide open files from the watcher; it is used where there is no PID namespace to
hold the processes together.
"""

from __future__ import annotations

import ctypes
import functools
import os

from . import linux

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


def program(
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
    steps = program(machine, alone=alone, pid=pid, network=network, unix_sockets=unix_sockets, counted=counted)
    return _Program(len(steps), (_Instruction * len(steps))(*(_Instruction(*step) for step in steps)))


def restrict(*, alone: bool, network: bool, counted: bool, unix_sockets: bool = False, now: bool = True) -> bool:
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
            linux.prctl(linux.PR_SET_SECCOMP, 2, ctypes.byref(filter_))
    except OSError:
        return False
    return True
