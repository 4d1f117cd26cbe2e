"""Limits that the kernel does not keep for a group of processes: memory and disk in total."""

from __future__ import annotations

import os

MAX_ENTRIES = 5_000
"""Files and folders that the code may leave in its folder."""


def memory_of_all(proc: int) -> int:
    """Bytes of private memory of every process that the /proc behind the descriptor shows."""
    pages = 0
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            file = os.open(name + "/statm", os.O_RDONLY, dir_fd=proc)
        except OSError:
            continue  # it has ended meanwhile
        try:
            fields = os.read(file, 256).split()
        except OSError:
            continue
        finally:
            os.close(file)
        if len(fields) > 2:
            pages += int(fields[1]) - int(fields[2])
    return pages * os.sysconf("SC_PAGESIZE")


def size_of_tree(folder: str, enough: int) -> int:
    """Bytes on disk below a folder. Counting stops at ``enough``; too many entries count as ``enough``."""
    total = entries = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if entries > MAX_ENTRIES or total >= enough:
                        return enough
        except FileNotFoundError:
            continue  # removed while we looked
        except PermissionError:
            continue  # closed by its owner: its size is not known
        except OSError:
            return enough  # a path longer than the system allows: nobody nests so deep in good faith
    return total
