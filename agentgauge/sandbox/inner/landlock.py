"""Landlock: a process gives up access to all files but the ones named, and to TCP. Linux 5.13; TCP from 6.7.

The numbers are those of ``linux/landlock.h``; the system calls have the same numbers on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import stat

from . import linux

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable

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


def version() -> int:
    """The version that the kernel offers, 0 where it offers none."""
    try:
        return linux.syscall(_CREATE, None, 0, _CREATE_VERSION)
    except OSError:
        return 0


def restrict(
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
    found = version()
    if not found:
        return 0
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(found, 16)
    everything = (1 << bits) - 1
    rules = _Ruleset(
        everything, _TCP if found >= FIRST_WITH_TCP and not network else 0, _SCOPES if found >= FIRST_WITH_SCOPES else 0
    )
    size = 24 if found >= FIRST_WITH_SCOPES else 16 if found >= FIRST_WITH_TCP else 8
    ruleset = linux.syscall(_CREATE, ctypes.byref(rules), size, 0)
    writing = everything & ~(_MAKE_CHAR | _MAKE_BLOCK | _EXECUTE)
    for paths, allowed in (
        (read_only, _READ_ONLY),
        (listed, _READ_DIR),
        (read_write, writing),
        (devices, _READ_FILE | _WRITE_FILE),
    ):
        for path in paths:
            _allow(ruleset, path, allowed & everything)
    linux.syscall(_RESTRICT, ruleset, 0)
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
    linux.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(parent)
