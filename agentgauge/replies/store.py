"""A file of replies, one a line: recordings, caches and kept stages of cases are such files.

JSON Lines. The first line is a header, ``{"replies": 2, "settings": {...}}``; every other is an entry,
``{"key": "<32 hex digits>", "about": {...}, "outcome": {...}}``. The key stands first, so that the places of all
entries are found without decoding them. Nothing is changed in place: the last entry of a key counts.

Several processes may append to a file and read it at the same time. Each entry is one ``os.write`` to a descriptor
opened with O_APPEND, which the kernel does not interleave; machines that share a network file system take turns by its
lock. What a process that was killed has left of its last line is skipped, and the next entry begins on a line of its
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from errno import EINVAL
from operator import itemgetter
from pathlib import Path
from stat import S_ISREG
from threading import Lock
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import append_whole, encoded, open_plain
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.text import DEEPEST, digest, parse_json, refuse_extremes
from agentgauge.core.types import Json

FORMAT = 2

_HEADER, _ENTRY = b'{"replies":', b'{"key": "'
_END = b"}}\n"  # of an entry; one that was torn has another, or a line that was begun after it
_KEY = slice(len(_ENTRY), len(_ENTRY) + 32)
_AFTER_KEY, _ABOUT = b'", "about": ', len(_ENTRY) + 32 + len('", "about": ')
_BLOCK = 1 << 20
_DEEPEST = DEEPEST + 20  # levels of an outcome, in which a reply has as many as are kept of one
_DECODER = json.JSONDecoder()


Named = tuple[str, Mapping[str, Json]]
"""An entry's key, and what is said about it."""


def key_of(content: Json) -> str:
    """The key of a JSON value: 32 hex digits. The order of names does not matter."""
    return digest(content, 32)


def header(settings: Mapping[str, Json]) -> bytes:
    """The first line of a file. ``settings``: of the run that it was recorded in; a cache has none."""
    return encoded({"replies": FORMAT, "settings": dict(settings)}) + b"\n"


class Replies:
    """A file of replies, which need not exist. It is opened when it is first used, and the places of its entries are
    held in memory, some 200 bytes for each. May be used by several threads."""

    def __init__(
        self, path: Path, placeholders: Mapping[str, str] = {}, earlier: Callable[[bytes], Named] | None = None
    ) -> None:
        """``placeholders``: an absolute folder → what stands for it in the file, so that entries can be used where the
        folder lies elsewhere. ``earlier``: reads key and description of an entry in the form of an earlier version,
        which has its ``outcome`` too; raises ValueError for what is none."""
        self._readable: int | None = None
        self._writable: int | None = None
        self.path = path
        self.placeholders = PathPlaceholders(placeholders)
        self._earlier = earlier
        self._strange: list[int] = []  # numbers of lines
        self._places: dict[bytes, int] = {}  # key → where its last entry begins
        self._lines = 0
        self._indexed = 0  # bytes whose lines are in ``_places``
        self._seen = 0  # bytes of the file when it was last looked at; the last line may be incomplete
        self._lock = Lock()

    def find(self, key: str) -> Mapping[str, Any] | None:
        """The outcome that any process kept last under the key, with real paths; None where there is none, or where it
        is damaged. Raises OSError where the file cannot be read."""
        try:
            return self.read(key)
        except ValueError:
            return None

    def read(self, key: str) -> Mapping[str, Any] | None:
        """As ``find``. Raises ValueError for an outcome that is damaged."""
        with self._lock:
            file = self._refreshed()
            place = self._places.get(key.encode())
            if file is None or place is None:
                return None
            with open(file, "rb", closefd=False) as stream:
                stream.seek(place)
                entry = parse_json(stream.readline())
        outcome = entry.get("outcome") if isinstance(entry, dict) else None
        if not isinstance(outcome, dict):
            raise ValueError("it has no outcome")
        refuse_extremes(outcome, deepest=_DEEPEST)
        found: Mapping[str, Any] = self.placeholders.to_paths(outcome)
        return found

    def keep(self, key: str, outcome: Mapping[str, Json], about: Mapping[str, Json] = {}) -> None:
        """Append an entry, without secrets and with placeholders for folders. ``about``: for people, and for telling
        why an entry does not fit. Makes the file and its folder where they are missing. Raises OSError, also where the
        disk is full; nothing of the entry is left then."""
        entry = {"about": dict(about), "outcome": dict(outcome)}
        line = encoded({"key": key, **self.placeholders.to_placeholders(entry)}) + b"\n"
        with self._lock:
            if self._writable is not None and not os.fstat(self._writable).st_nlink:  # the file was removed
                self._close()
            if self._writable is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._writable = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if not S_ISREG(os.fstat(self._writable).st_mode):
                raise OSError(EINVAL, "it is no plain file", str(self.path))
            with _locked(self._writable):
                if not (size := os.fstat(self._writable).st_size):
                    line = header({}) + line
                elif os.pread(self._writable, 1, size - 1) != b"\n":
                    line = b"\n" + line
                append_whole(self.path, self._writable, line)

    def entries(self) -> list[Named]:
        """The key of each entry and what is said about it, in their order. Raises OSError."""
        found = []
        with self._lock:
            file = self._refreshed()
            if file is None:
                return []
            with open(file, "rb", closefd=False) as stream:
                for key, place in sorted(self._places.items(), key=itemgetter(1)):
                    stream.seek(place)
                    with contextlib.suppress(ValueError, RecursionError):
                        found.append((key.decode(), self._about(stream.readline())))
        return [(key, about) for key, about in found if isinstance(about, dict)]

    def strange_lines(self) -> Sequence[int]:
        """The numbers of the lines after the first that are neither header nor entry. Raises OSError."""
        with self._lock:
            self._refreshed()
            return [*self._strange]

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        for file in (self._readable, self._writable):
            if file is not None:
                os.close(file)
        self._readable = self._writable = None

    def __del__(self) -> None:
        self._close()

    def _refreshed(self) -> int | None:
        """The file with all of its whole lines looked at; None where there is no file."""
        if self._readable is None:
            try:
                with open_plain(self.path) as stream:
                    self._readable = os.dup(stream.fileno())
            except FileNotFoundError:
                return None
            except UsageProblem as problem:
                raise OSError(str(problem)) from None
        size = os.fstat(self._readable).st_size
        if size < self._indexed:  # it was cut
            self._places.clear()
            self._strange.clear()
            self._lines = self._indexed = 0
        if size != self._seen:
            self._seen = size
            self._index(self._readable)
        return self._readable

    def _index(self, file: int) -> None:
        start, number, places = self._indexed, self._lines, self._places
        with open(file, "rb", buffering=_BLOCK, closefd=False) as stream:
            stream.seek(start)
            for line in stream:
                if line[-1:] != b"\n":
                    break
                if line.startswith(_ENTRY) or _ENTRY.startswith(line[:-1]):
                    if line[_KEY.stop : _ABOUT] == _AFTER_KEY and line.endswith(_END):
                        places[line[_KEY]] = start
                elif key := self._earlier_key(line):
                    places[key.encode()] = start
                elif number and not line.startswith(_HEADER):
                    self._strange.append(number + 1)
                number += 1
                start += len(line)
        self._indexed, self._lines = start, number

    def _earlier_key(self, line: bytes) -> str:
        """The key of an entry in an earlier version's form; empty for what is none."""
        try:
            return self._earlier(line)[0] if self._earlier else ""
        except ValueError:
            return ""

    def _about(self, line: bytes) -> Json:
        """Raises ValueError and RecursionError."""
        if line.startswith(_ENTRY):
            return _DECODER.raw_decode(line[_ABOUT:].decode())[0]  # what follows is not decoded
        return self._earlier(line)[1] if self._earlier else None


@contextlib.contextmanager
def _locked(file: int) -> Iterator[None]:
    """Context in which no other process appends; where the file system has no locks, the kernel's order of writes must
    do."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
