"""System calls that Python 3.11 does not offer, through ctypes. Every failure is an OSError with the kernel's errno."""

from __future__ import annotations

import ctypes
import os

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
