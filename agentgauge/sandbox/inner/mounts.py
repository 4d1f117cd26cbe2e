"""Files: a root of the sandbox's own, with the interpreter and its libraries, read-only; and the program's folder.

The folder is a file system in memory of a fixed size, with a copy of the caller's folder, copied back at the end. The
kernel limits the size of all data in it, also of unlinked files that are open, mapped or on their way through a socket.
The same file system holds the program's ``/dev/shm``, for the locks of processes; that is not copied back.
"""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH112, PTH120
from __future__ import annotations

import ctypes
import errno
import os
import stat

from . import linux

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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
    read_only: Sequence[tuple[str, str]],
    folder: str,
    devices: Iterable[str],
    *,
    many: bool = False,
    own_proc: bool = False,
) -> None:
    """Exchange the root directory for a new one. Call in a mount namespace of its own, made private.

    ``read_only`` holds pairs of a place on the host and the place where it appears, in the order of mounting; where the
    first is empty, so is what appears. ``folder`` and ``SHARED``, which ``Folder`` has mounted, appear where they are.
    ``many``: the root serves many programs, one after the other: these two are new places, to mount over, and the
    host's /proc stays until ``open_own_proc`` is called for each. ``own_proc``: there is a /proc that shows this PID
    namespace only, unless the kernel refuses it.
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
    if own_proc:
        _show_own_proc()
    linux.umount(_OLD, _DETACH)
    os.rmdir(_OLD)
    linux.mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)


def _show_own_proc() -> None:
    os.mkdir("/proc")
    try:
        linux.mount("proc", "/proc", "proc", _NOSUID | _NODEV | _RDONLY)
    except OSError:  # in a container whose own /proc is not whole
        return


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


SHARED = "/dev/shm"
MAX_ENTRIES = 5_000
"""Files and folders that the program may have in its folder."""

_MOST_NOTES = 100
_RIGHTS = 0o777  # no set-user-id, set-group-id or sticky bit is copied
_MAX_DEPTH = 100  # folders within each other; what lies deeper is not copied
_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


class NotKept(Exception):
    """The caller's folder could not take what the program has left; the text is the kernel's reason."""


class Folder:
    """A folder in memory over the caller's. Make it in a mount namespace of its own, made private."""

    def __init__(self, outside: int, path: str, size: int, uid: int | None) -> None:
        """``outside``: a descriptor of the caller's folder. ``path``: where the program sees it. ``size`` in bytes;
        ``uid`` owns the files inside.

        Raises OSError where there is no such user, NotKept where the caller's files do not fit.
        """
        self._outside = outside
        given = os.fstat(self._outside)
        self._owner = given.st_uid, given.st_gid
        owner = "" if uid is None else f",uid={uid},gid={uid}"
        # No size would mean no limit.
        data = f"size={max(size, 1 << 16)},nr_inodes={MAX_ENTRIES},mode=700{owner}"
        linux.mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV, data)
        for name, place in (("shared", SHARED), ("files", path)):
            os.mkdir(f"{path}/{name}", 0o700)
            if uid is not None:
                os.chown(f"{path}/{name}", uid, uid)
            if os.path.isdir(place):
                linux.mount(f"{path}/{name}", place, None, _BIND)
        self._inside = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _copy(self._outside, self._inside, None if uid is None else (uid, uid))

    def is_full(self) -> bool:
        """Whether no block or no entry is left."""
        found = os.statvfs(self._inside)
        return found.f_bfree == 0 or found.f_ffree == 0

    def keep(self) -> list[str]:
        """Replace the content of the caller's folder by the files of the program. Call this when no process of the
        program runs.

        Returns notes about files that could not be kept unchanged.
        """
        _clear(self._outside)
        return _copy(self._inside, self._outside, self._owner if os.geteuid() == 0 else None)


def _copy(source: int, target: int, owner: tuple[int, int] | None) -> list[str]:
    """Copy folders, files, links and hard links, without special bits; holes stay holes; other kinds of files are left
    out.

    What has a name that the target refuses, or lies too deep, is left out as well. Returns notes of what was not copied
    as it was. Raises NotKept.
    """
    linked: dict[int, bytes] = {}
    notes: list[str] = []
    for path, found in _entries(source):
        name = path[:200].decode("utf-8", "replace")
        if stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_ISUID | stat.S_ISGID):
            notes.append(f"{name} would have run with the rights of its owner; they are taken away")
        try:
            if stat.S_ISDIR(found.st_mode):
                os.mkdir(path, 0o700, dir_fd=target)
            elif stat.S_ISLNK(found.st_mode):
                os.symlink(os.readlink(path, dir_fd=source), path, dir_fd=target)
            elif not stat.S_ISREG(found.st_mode):
                notes.append(f"{name} is not a plain file and is removed")
                continue
            elif found.st_nlink > 1 and found.st_ino in linked:
                os.link(linked[found.st_ino], path, src_dir_fd=target, dst_dir_fd=target, follow_symlinks=False)
                continue
            else:
                linked[found.st_ino] = path
                _copy_file(source, target, path)
            if owner:
                os.chown(path, *owner, dir_fd=target, follow_symlinks=False)
            if not stat.S_ISLNK(found.st_mode):
                least = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
                os.chmod(path, found.st_mode & _RIGHTS | least, dir_fd=target)
        except OSError as error:
            if error.errno in _FAULTS:
                raise NotKept(error.strerror) from error
            notes.append(f"{name} cannot be kept ({error.strerror})")
    return notes[:_MOST_NOTES]


def _entries(folder: int) -> Iterator[tuple[bytes, os.stat_result]]:
    """Everything below a folder, folders before what they hold, by paths relative to it."""
    waiting = [b""]
    while waiting:
        below = waiting.pop()
        try:
            opened = os.open(below or b".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            continue  # closed by its owner, or too deep for a path
        try:
            names = [os.fsencode(name) for name in os.listdir(opened)]  # noqa: PTH208
            for name in names:
                path = below + b"/" + name if below else name
                found = os.stat(name, dir_fd=opened, follow_symlinks=False)
                yield path, found
                if stat.S_ISDIR(found.st_mode) and path.count(b"/") < _MAX_DEPTH:
                    waiting.append(path)
        finally:
            os.close(opened)


def _copy_file(source: int, target: int, path: bytes) -> None:
    given = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source)
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=target)
        try:
            size, at = os.fstat(given).st_size, 0
            os.ftruncate(made, size)
            while at < size:
                try:
                    at = os.lseek(given, at, os.SEEK_DATA)
                except OSError:
                    return  # nothing but a hole is left
                end = os.lseek(given, at, os.SEEK_HOLE)
                os.lseek(given, at, os.SEEK_SET)
                os.lseek(made, at, os.SEEK_SET)
                while at < end:
                    moved = os.sendfile(made, given, None, end - at)
                    if not moved:
                        return
                    at += moved
        finally:
            os.close(made)
    finally:
        os.close(given)


def _clear(folder: int) -> None:
    """Remove everything below a folder; links are not followed."""
    for path, found in reversed(list(_entries(folder))):
        try:
            (os.rmdir if stat.S_ISDIR(found.st_mode) else os.unlink)(path, dir_fd=folder)
        except OSError:
            continue  # it stays, and so does what holds it
