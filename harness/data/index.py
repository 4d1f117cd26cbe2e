"""An index of a data set: what is in it and where, without its payload.

It is built once, by reading the whole file, and kept in the user's cache folder; every later process reads only the
cache. A cache that is missing, broken or cannot be written costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataProblem

_FORMAT = "1"
"""Part of the cache's key: to be raised when what is cached changes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One sample: its id, its keywords, and where its bytes are."""

    id: str
    tags: tuple[str, ...]
    start: int  # byte offset of the JSON value in the file
    end: int
    position: int  # from 0


@dataclass(frozen=True, slots=True)
class Index:
    """The samples of one data file."""

    root: Path  # folder that relative paths start from
    file: Path
    fingerprint: str  # of the file's content
    rows: tuple[Row, ...]

    def read(self, row: Row) -> bytes:
        """The JSON text of one sample."""
        with self.file.open("rb") as stream:
            stream.seek(row.start)
            return stream.read(row.end - row.start)


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a data file, decoded, and where it is."""

    key: str  # its key, or its line number from 0
    value: Any
    start: int  # bytes
    end: int


def build_index(
    files: Sequence[Path],
    entries: Callable[[Path], Iterator[Entry]],
    describe: Callable[[Entry], tuple[str, Sequence[str]]],
    *,
    kind: str,
) -> Index:
    """The index of ``files[0]``, from the cache or built anew.

    ``describe`` checks an entry and returns its id and keywords; it raises DataProblem. The other files are read by
    ``describe`` and belong to the fingerprint. ``kind`` names the way of describing: with another one the cache is
    another one, so raise it when ``describe`` changes. Raises DataProblem for files that are missing or damaged.
    """
    file = files[0]
    cached = _cache_file(files, kind)
    found = _recall(cached)
    if found is None:
        rows = tuple(_row(entry, position, *describe(entry)) for position, entry in enumerate(entries(file)))
        _refuse_repeated(file, rows)
        found = (_fingerprint(files), rows)
        _keep(cached, *found)
    return Index(file.parent, file, *found)


def object_entries(file: Path) -> Iterator[Entry]:
    """The values of a file that holds one JSON object, in the order of the file. Raises DataProblem."""
    text, offset = _text(file)
    decoder = json.JSONDecoder()
    place = _skip(text, 0)
    if text[place : place + 1] != "{":
        raise DataProblem(f"{file} must hold one JSON object, of samples by number; it begins with {text[place : place + 20]!r}")
    counted = 0  # characters that ``offset`` has counted
    place = _skip(text, place + 1)
    first = True
    while text[place : place + 1] != "}":
        try:
            if not first:
                place = _expect(text, place, ",")
            first = False
            key, place = decoder.raw_decode(text, place)
            if not isinstance(key, str):
                raise json.JSONDecodeError("a key must be a text", text, place)
            start = _expect(text, place, ":")
            value, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise DataProblem(f"{file} is damaged: {error}; get the file again") from None
        offset += len(text[counted:start].encode())
        size = len(text[start:place].encode())
        yield Entry(key, value, offset, offset + size)
        offset, counted = offset + size, place
        place = _skip(text, place)
    if rest := text[place + 1 :].strip():
        raise DataProblem(f"{file} is damaged: it goes on behind its object with {rest[:20]!r}; get the file again")


def line_entries(file: Path) -> Iterator[Entry]:
    """The values of a JSON Lines file; blank lines are passed over. Raises DataProblem."""
    start = 0
    for number, line in enumerate(_bytes(file).split(b"\n")):
        end = start + len(line)
        if line.strip():
            try:
                value = json.loads(line.decode("utf-8-sig" if number == 0 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise DataProblem(f"{file} is damaged in line {number + 1}: {error}; get the file again") from None
            bom = 3 if number == 0 and line.startswith(b"\xef\xbb\xbf") else 0
            yield Entry(str(number), value, start + bom, end)
        start = end + 1


def _row(entry: Entry, position: int, id: str, tags: Sequence[str]) -> Row:
    return Row(id, tuple(tags), entry.start, entry.end, position)


def _refuse_repeated(file: Path, rows: Sequence[Row]) -> None:
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise DataProblem(f"{file}: the id {row.id!r} occurs twice; ids must be unique")
        seen.add(row.id)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise DataProblem(f"{file} does not exist; give a folder with the data set in its official layout (--data)") from None
    except OSError as error:
        raise DataProblem(f"{file} cannot be read: {error.strerror or error}; check the path and its permissions") from None


def _text(file: Path) -> tuple[str, int]:
    """The file's text, and how many bytes of a byte order mark come before it."""
    content = _bytes(file)
    try:
        return content.decode("utf-8-sig"), 3 if content.startswith(b"\xef\xbb\xbf") else 0
    except UnicodeDecodeError as error:
        raise DataProblem(f"{file} is damaged: it is no UTF-8 text ({error.reason} at byte {error.start}); get the file again") from None


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _expect(text: str, place: int, sign: str) -> int:
    """The place behind ``sign`` and the blanks around it."""
    place = _skip(text, place)
    if text[place : place + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign!r}", text, place)
    return _skip(text, place + 1)


# -- the cache


def cache_folder() -> Path:
    """Where indexes are kept: ``$XDG_CACHE_HOME`` or ``~/.cache``, then ``agentgauge/index``."""
    base = os.environ.get("XDG_CACHE_HOME")
    # the specification of that variable says to ignore relative values
    home = Path(base) if base and Path(base).is_absolute() else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111 - Path.home() raises without a home
    return home / "agentgauge" / "index"


def _cache_file(files: Sequence[Path], kind: str) -> Path | None:
    """The cache's file for exactly these files in this state; None where they cannot be looked at."""
    parts = [_FORMAT, kind]
    for file in files:
        try:
            state = file.stat()
        except OSError:
            return None  # reading it will say what is wrong
        parts += [str(file.absolute()), str(state.st_size), str(state.st_mtime_ns)]
    return cache_folder() / (hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40] + ".json")


def _recall(cached: Path | None) -> tuple[str, tuple[Row, ...]] | None:
    if cached is None:
        return None
    try:
        data = json.loads(cached.read_bytes())
        rows = enumerate(data["rows"])
        found = tuple(Row(str(id), tuple(map(str, tags)), int(start), int(end), place) for place, (id, tags, start, end) in rows)
        return str(data["fingerprint"]), found
    except (OSError, ValueError, TypeError, KeyError):
        return None  # missing or broken: it is built anew


def _keep(cached: Path | None, fingerprint: str, rows: Sequence[Row]) -> None:
    if cached is None:
        return
    text = json.dumps({"fingerprint": fingerprint, "rows": [[row.id, row.tags, row.start, row.end] for row in rows]})
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs the next process its time
        cached.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=cached.parent, prefix=cached.stem)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(text)
            os.replace(temporary, cached)  # noqa: PTH105 - temporary is a text
        except OSError:
            os.unlink(temporary)  # noqa: PTH108
            raise


def _fingerprint(files: Sequence[Path]) -> str:
    content = hashlib.sha256()
    for file in files:
        content.update(hashlib.sha256(_bytes(file)).digest())
    return content.hexdigest()[:16]
