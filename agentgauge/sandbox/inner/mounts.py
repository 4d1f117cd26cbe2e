"""A file system of the sandbox's own: the interpreter and its libraries, read-only, and one folder; nothing else."""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH112, PTH120
from __future__ import annotations

import ctypes
import errno
import os

from . import linux
from .folder import SHARED

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")

_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_BASES = ("/tmp", "/var/tmp", "/run", "/mnt")
_OLD = "/.host"
_EMPTY = "/.empty"


def devices(*, counted: bool) -> tuple[str, ...]:
    """The devices that are visible in ``/dev``. A shared mapping of ``/dev/zero`` is memory, so the device is visible
    only if the kernel counts such memory."""
    return (*_DEVICES, "/dev/zero") if counted else _DEVICES


def make_private() -> None:
    """Nothing that is mounted from here on is seen outside."""
    linux.mount(None, "/", None, _REC | _PRIVATE)


def build_root(
    read_only: Sequence[tuple[str, str]], folder: str, devices: Iterable[str], *, many: bool = False
) -> None:
    """Exchange the root directory for a new one. Call in a mount namespace of its own, made private.

    ``read_only`` holds pairs of a place on the host and the place where it appears, in the order of mounting; where the
    first is empty, so is what appears. ``folder`` and ``SHARED``, which ``Folder`` has mounted, appear where they are.
    ``many``: the root serves many programs, one after the other: these two are new places, to mount over, and the
    host's /proc stays until ``open_own_proc`` is called for each.
    """
    os.umask(0o022)
    base = next(path for path in _BASES if os.path.isdir(path))
    linux.mount("tmpfs", base, "tmpfs", _NOSUID | _NODEV, "size=1m,nr_inodes=4k,mode=755")
    os.chdir(base)
    os.mkdir(base + _OLD)
    linux.syscall(_SYS_PIVOT_ROOT[os.uname().machine], b".", os.fsencode(_OLD[1:]))
    os.chdir("/")
    emptied: list[str] = []
    for source, target in read_only:
        if source:
            _bind(source, target, _RDONLY | _NOSUID | _NODEV)
        elif os.path.exists(target):  # it may have been removed meanwhile
            _cover(target, f"{_EMPTY}/{len(emptied)}")
            emptied.append(target)
    for device in devices:
        if os.path.exists(_OLD + device):
            _bind(device, device, _NOSUID)
    if many:
        _bind("/proc", "/proc", _NOSUID | _NODEV)
        os.makedirs(folder)
        os.makedirs(SHARED)
    else:
        _bind(folder, folder, _NOSUID | _NODEV)
        if os.path.isdir(_OLD + SHARED):
            _bind(SHARED, SHARED, _NOSUID | _NODEV)
    for target in emptied:  # not earlier: places within them had to be made
        _restrict_mount(target, _RDONLY | _NOSUID | _NODEV, 0)
    linux.umount(_OLD, _DETACH)
    os.rmdir(_OLD)
    linux.mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def open_own_proc() -> int | None:
    """A descriptor of a /proc that shows this PID namespace only; it is visible nowhere. None where it is refused.

    Call while the host's /proc is there to mount over.
    """
    try:
        linux.mount("proc", "/proc", "proc", _NOSUID | _NODEV | _RDONLY)
        descriptor = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        linux.umount("/proc", _DETACH)
    except OSError:
        return None
    return descriptor


def leave_host_proc() -> None:
    """Take away the /proc that ``build_root`` has kept for many programs."""
    linux.umount("/proc", _DETACH)


def _bind(source: str, target: str, flags: int) -> None:
    source = _OLD + source
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    linux.mount(source, target, None, _BIND | _REC)
    _restrict_mount(target, flags, _AT_RECURSIVE)


def _cover(target: str, empty: str) -> None:
    """Let a folder or file appear empty, until ``empty``, which is new, is filled."""
    if os.path.isdir(target):
        os.makedirs(empty)
    else:
        os.makedirs(_EMPTY, exist_ok=True)
        os.close(os.open(empty, os.O_CREAT | os.O_WRONLY))
    linux.mount(empty, target, None, _BIND)


def _restrict_mount(target: str, flags: int, depth: int) -> None:
    # The MOUNT_ATTR_ values of these three flags are the same as the MS_ ones.
    attributes = (ctypes.c_uint64 * 4)(flags, 0, 0, 0)
    try:
        linux.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), depth, ctypes.byref(attributes), 32)
    except OSError as error:
        if error.errno != errno.ENOSYS:  # Linux before 5.12
            raise
        # Flags that the host has set cannot be taken off in a user namespace: repeat them.
        locked = os.statvfs(target).f_flag & 0x1F
        linux.mount(None, target, None, _REMOUNT | _BIND | flags | locked)
