"""An index of a data set: ids, keywords and byte positions of the samples, without their content.

It is built once, by reading the whole file, and kept in the user's cache folder; every later process reads only the
cache. If the cache is missing, broken or not writable, each process builds the index itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from sys import intern
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.files import cache_base, write_whole
from agentgauge.core.text import UTF_16, in_words, odd_kind, parse_json

_FORMAT = "3"
"""Part of the cache's key. Raise it when the cached content changes."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


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
    """The samples of a data set: ids, keywords and positions, without their content."""

    root: Path  # folder that relative paths start from
    file: Path
    fingerprint: str  # of the file's content
    rows: tuple[Row, ...]
    differences: tuple[str, ...] = ()  # how the layout differs from the official one, one sentence each
    more: tuple[Path, ...] = ()  # files that go on where ``file`` ends: offsets run on through them

    def read(self, row: Row) -> bytes:
        """The JSON text of one sample."""
        file, start = self.file, row.start
        for following in self.more:
            if start < (size := file.stat().st_size):
                break
            file, start = following, start - size
        held = _kept_open(file, self.fingerprint)  # another thread may close it meanwhile
        return os.pread(held.number, row.end - row.start, start)


class _Open:
    """A file that is closed when no sample is read from it any more."""

    def __init__(self, file: Path) -> None:
        self.number = os.open(file, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


@lru_cache(maxsize=16)
def _kept_open(file: Path, fingerprint: str) -> _Open:
    """Opening a file costs as much as reading a sample. One with other content has another fingerprint."""
    return _Open(file)


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
    differences: Callable[[], Sequence[str]] = tuple,
    parts: int = 1,
) -> Index:
    """The index of ``files[0]``, or of the first ``parts`` files as if they were one, from the cache or newly built.

    ``describe`` checks an entry and returns its id and keywords; it raises DataProblem. The other files are read by
    ``describe`` and belong to the fingerprint. ``kind`` names the version of ``describe`` and is part of the cache's
    key: change it when ``describe`` changes. ``differences`` is called when all entries are described, and returns how
    they differ from the official layout. Raises DataProblem for files that are missing or damaged.
    """
    file = files[0]
    cached = _cache_file(files, kind)
    found = _known.get(cached) or _recall(cached)
    if found is None:
        rows: list[Row] = []
        for position, entry in enumerate(_joined(files[:parts], entries)):
            id, tags = describe(entry)
            rows.append(Row(id, _shared(tuple(tags)), entry.start, entry.end, position))
        check_ids(file, (row.id for row in rows))
        found = (_fingerprint(files), tuple(rows), tuple(differences()))
        _keep(cached, *found)
    _known[cached] = found
    return Index(file.parent, file, *found, more=tuple(files[1:parts]))


def check_ids(file: Path, ids: Iterable[str]) -> None:
    """Raises DataProblem for an id that occurs twice, and for one that cannot stand in every file, name and line: a
    blank one, and one with a control character, a line end or half of a character (a lone surrogate)."""
    known: set[str] = set()
    for id in ids:
        if id in known:
            raise DataProblem(f"{file}: the id {id!r} occurs twice; ids must be unique")
        if not id.strip():
            raise DataProblem(f"{file}: sample {len(known) + 1} has the blank id {id!r}; give it another")
        if found := _UNWRITABLE.search(id):
            what = "half of a character" if found[0] >= "\ud800" else "a control character"
            raise DataProblem(
                f"{file}: the id {id!r} cannot be written everywhere, because it holds {what}; give the sample another"
            )
        known.add(id)


_known: dict[Path, tuple[str, tuple[Row, ...], tuple[str, ...]]] = {}
"""The indexes that this process has read, because a run uses each index a dozen times. The name of a cache file
identifies the state of the data."""


def _joined(files: Sequence[Path], entries: Callable[[Path], Iterator[Entry]]) -> Iterator[Entry]:
    """The entries of several files, with offsets that run on."""
    before = 0
    for file in files:
        for entry in entries(file):
            yield Entry(entry.key, entry.value, entry.start + before, entry.end + before) if before else entry
        before += file.stat().st_size


def object_entries(file: Path) -> Iterator[Entry]:
    """The values of a file that holds one JSON object, in the order of the file. Raises DataProblem."""
    text, offset = _text(file)
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        raise DataProblem(
            f"{file} must hold one JSON object, of samples by number; it begins with {text[start : start + 20]!r}"
        )
    yield from _entries(file, text, offset, "object", "{}")


def list_entries(file: Path) -> Iterator[Entry]:
    """The values of a file that holds one JSON list; positions from 0 are the keys. Raises DataProblem."""
    yield from _entries(file, *_text(file), "list", "[]")


def _entries(file: Path, text: str, offset: int, kind: str, brackets: str) -> Iterator[Entry]:
    """``offset``: bytes before the text. ``kind``: list or object."""
    decoder = json.JSONDecoder()
    counted = number = 0  # characters that ``offset`` has counted, values
    try:
        place = _expect(text, 0, brackets[0])
        while text[place : place + 1] != brackets[1]:
            if number:
                place = _expect(text, place, ",")
            key: Any = str(number)
            if kind == "object":
                key, place = decoder.raw_decode(text, place)
                if not isinstance(key, str):
                    raise json.JSONDecodeError("a key must be a string", text, place)
                place = _expect(text, place, ":")
            value, end = decoder.raw_decode(text, place)
            offset += len(text[counted:place].encode())
            size = len(text[place:end].encode())
            yield Entry(key, value, offset, offset + size)
            offset, counted = offset + size, end
            number, place = number + 1, _skip(text, end)
    except (ValueError, RecursionError) as error:
        raise DataProblem(f"{file} is damaged: {in_words(error)}; get the file again") from None
    if rest := text[place + 1 :].strip():
        raise DataProblem(f"{file} is damaged: it continues after its {kind} with {rest[:20]!r}; get the file again")


def first_line(file: Path) -> str:
    """The first line that is not blank, without the blanks around it; empty if there is none or the line is no text.
    Raises DataProblem."""
    with _opened(file) as stream:
        line = next((line for line in stream if line.strip(b"\xef\xbb\xbf \t\r\n")), b"")
        _refuse_utf_16(file, line)
    return line.decode("utf-8-sig", "replace").strip()


def line_entries(file: Path) -> Iterator[Entry]:
    """The values of a JSON Lines file; blank lines are skipped. Raises DataProblem."""
    start = 0
    with _opened(file) as stream:
        for number, line in enumerate(stream):
            end = start + len(line.removesuffix(b"\n"))
            if number == 0:
                _refuse_utf_16(file, line)
            if line.strip():
                try:
                    value = parse_json(line.decode("utf-8-sig" if number == 0 else "utf-8"))
                except ValueError as error:
                    raise DataProblem(f"{file} is damaged in line {number + 1}: {error}; get the file again") from None
                bom = 3 if number == 0 and line.startswith(b"\xef\xbb\xbf") else 0
                yield Entry(str(number), value, start + bom, end)
            start += len(line)


def _refuse_utf_16(file: Path, start: bytes) -> None:
    """Samples are read by their places among the bytes of UTF-8."""
    if start.startswith(UTF_16):
        raise DataProblem(f"{file} is UTF-16 text; save it as UTF-8")


@lru_cache(maxsize=4096)
def _shared(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Thousands of samples have the same few keywords, which are held once."""
    return tuple(map(intern, tags))


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[BufferedReader]:
    try:
        if kind := odd_kind(file):
            raise DataProblem(f"{file} is {kind}, and samples are read at their places in a file; save it as a file")
        with file.open("rb") as stream:
            yield stream
    except FileNotFoundError:
        raise DataProblem(
            f"{file} does not exist; give a folder with the data set in its official layout (--data)"
        ) from None
    except OSError as error:
        raise DataProblem(
            f"{file} cannot be read: {error.strerror or error}; check the path and its permissions"
        ) from None


def _text(file: Path) -> tuple[str, int]:
    """The file's text, and how many bytes of a byte order mark come before it."""
    with _opened(file) as stream:
        content = stream.read()
    _refuse_utf_16(file, content)
    try:
        return content.decode("utf-8-sig"), 3 if content.startswith(b"\xef\xbb\xbf") else 0
    except UnicodeDecodeError as error:
        raise DataProblem(
            f"{file} is damaged: it is not UTF-8 text ({error.reason} at byte {error.start}); get the file again"
        ) from None


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
    return cache_base() / "agentgauge" / "index"


def _cache_file(files: Sequence[Path], kind: str) -> Path:
    """The cache's file for exactly these files in this state. Raises DataProblem where one cannot be read."""
    parts = [_FORMAT, kind]
    for file in files:
        with _opened(file) as stream:
            state = os.fstat(stream.fileno())
        parts += [str(file.absolute()), str(state.st_size), str(state.st_mtime_ns)]
    key = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:40]
    return cache_folder() / f"{key}.json"


def _recall(cached: Path) -> tuple[str, tuple[Row, ...], tuple[str, ...]] | None:
    try:
        data = json.loads(cached.read_bytes())
        found = tuple(
            Row(str(id), _shared(tuple(map(str, tags))), int(start), int(end), place)
            for place, (id, tags, start, end) in enumerate(data["rows"])
        )
        return str(data["fingerprint"]), found, tuple(map(str, data["differences"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None  # missing or broken: it is built anew


def _keep(cached: Path, fingerprint: str, rows: Sequence[Row], differences: Sequence[str]) -> None:
    listed = [[row.id, row.tags, row.start, row.end] for row in rows]
    text = json.dumps({"fingerprint": fingerprint, "differences": differences, "rows": listed})
    with contextlib.suppress(OSError):  # a cache that cannot be written only costs the next process its time
        cached.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(cached, text.encode())


def _fingerprint(files: Sequence[Path]) -> str:
    content = hashlib.sha256()
    for file in files:
        with _opened(file) as stream:
            content.update(hashlib.file_digest(stream, "sha256").digest())
    return content.hexdigest()[:16]
