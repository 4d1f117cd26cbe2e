"""Answers of tools in files of the user's cache folder, found by a digest of everything that determines them.

An entry is one line of JSON and the answer's body. It is data: nothing of it is run, unpickled or used as a path. It is
written in one step, so several servers may share the folder. An entry that does not fit its own digest is removed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentgauge.core.files import advice, write_whole
from tool_impls.server.call import Answer

LARGEST = 1 / 20  # of the folder's size, for one entry; and how much is written until the folder is measured again
BLOCK = 4096  # bytes
LEFT = 0.9  # of the folder's size, when the entries that were used least recently have been removed


class ResultStore:
    """A folder of answers. Raises nothing: an entry that cannot be read counts as missing, and a failed write is logged
    once.
    """

    def __init__(self, folder: Path, most: int) -> None:
        """``folder``: made when it is needed, and used only if no other user may enter it. ``most``: its largest size
        in bytes.
        """
        self._folder, self._most = folder, most
        self._usable: bool | None = None
        self._unmeasured = most  # bytes written since the folder was measured; at first anything may lie there
        self._logged = False

    def find(self, key: str) -> Answer | None:
        """The answer under a key, marked as cached. An entry that is damaged is removed."""
        if not self._ready():
            return None
        path = self._folder / key
        try:
            answer = _decoded(key, path.read_bytes())
        except OSError:  # most often it is not there
            return None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            answer = None
        with suppress(OSError):
            path.unlink() if answer is None else os.utime(path)  # the time of its last use
        return answer

    def keep(self, key: str, answer: Answer) -> None:
        """Write an answer, unless it is too large."""
        content = _encoded(key, answer)
        if len(content) > self._most * LARGEST or not self._ready():
            return
        try:
            write_whole(self._folder / key, content, mode=0o600)
            self._unmeasured += _on_disk(len(content))
            if self._unmeasured > self._most * LARGEST:
                self._unmeasured = 0
                self._make_room()
        except OSError as error:
            self.log(f"results of tools cannot be kept in {self._folder} ({error.strerror or error})", error)

    def log(self, problem: str, error: OSError | None = None) -> None:
        """Log once that the cache does not work, and what to do."""
        if not self._logged:
            self._logged = True
            first = error and advice(error)
            what = f"{first}, or set cache_mb = 0 in [tools]" if first else "cache_mb = 0 in [tools] switches it off"
            logging.getLogger("agentgauge.tools").warning("%s; tools work without it: %s", problem, what)

    def _ready(self) -> bool:
        if self._usable is None:
            self._usable = self._is_private()
        return self._usable

    def _is_private(self) -> bool:
        """Whether the folder is this user's alone: what others can write there would be taken for results."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._folder.lstat()
        except OSError as error:
            self.log(f"results of tools cannot be kept in {self._folder} ({error.strerror or error})", error)
            return False
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077:
            return True
        self.log(f"results of tools are not kept, because {self._folder} is not a folder of this user's with mode 700")
        return False

    def _make_room(self) -> None:
        """Remove the entries that were used least recently, and what killed servers left half-written among them."""
        found = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another server has just removed it
                state = path.lstat()
                found.append((state.st_mtime_ns, _on_disk(state.st_size), path))
        size = sum(bytes_ for _, bytes_, _ in found)
        least = self._most * LEFT if size > self._most else size
        for _, bytes_, path in sorted(found):
            if size <= least:
                return
            path.unlink(missing_ok=True)
            size -= bytes_


def _on_disk(size: int) -> int:
    """Whole blocks, since most entries are smaller than one."""
    return -(-size // BLOCK) * BLOCK


def _encoded(key: str, answer: Answer) -> bytes:
    head = {"names": answer.names, "raw": answer.raw, "seconds": answer.seconds}
    head |= {"note": answer.note} if answer.note else {}
    line = json.dumps({**head, "digest": _digest(key, head, answer.body)})
    return line.encode() + b"\n" + answer.body


def _decoded(key: str, content: bytes) -> Answer:
    """Raises ValueError, TypeError or KeyError for an entry that is damaged, or that was written for another key."""
    line, _, body = content.partition(b"\n")
    head = json.loads(line)
    digest = head.pop("digest")
    if digest != _digest(key, head, body):
        raise ValueError("the digest differs")
    names = tuple(name and Path(name).name for name in head["names"])  # no path of an entry is trusted
    return Answer(200, body, names, bool(head["raw"]), float(head["seconds"]), True, head.get("note", ""))


def _digest(key: str, head: Mapping[str, Any], body: bytes) -> str:
    parts = hashlib.sha256(json.dumps([key, head]).encode())
    parts.update(body)
    return parts.hexdigest()
