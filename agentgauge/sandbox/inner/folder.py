"""The program's folder: a file system in memory of a fixed size, with a copy of the caller's folder, copied back at the
end.

The kernel limits the size of all data in it, also of unlinked files that are open, mapped or on their way through a
socket. The same file system holds the program's ``/dev/shm``, for the locks of processes; that is not copied back.
"""

# pathlib would cost 5 ms to import, a quarter of a start.
# ruff: noqa: PTH102, PTH112
from __future__ import annotations

import errno
import os
import stat

from . import linux

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = "/dev/shm"
MAX_ENTRIES = 5_000
"""Files and folders that the program may have in its folder."""

_NOSUID, _NODEV, _BIND = 2, 4, 4096
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
