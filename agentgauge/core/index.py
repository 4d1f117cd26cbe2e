"""A data set that was read: the ids and keywords of its samples, and each one's JSON text, parsed when it is solved.

A process reads a data set once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from sys import intern
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.text import UTF_16, in_words, odd_kind, parse_json

_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """One sample."""

    id: str
    tags: tuple[str, ...]  # keywords
    position: int  # from 0
    text: bytes = field(default=b"", repr=False)  # the sample as JSON, in UTF-8


@dataclass(frozen=True, slots=True)
class Index:
    """The samples of a data set."""

    root: Path  # folder that relative paths start from
    file: Path
    fingerprint: str  # of the files' content
    rows: tuple[Row, ...]
    differences: tuple[str, ...] = ()  # how the layout differs from the official one, one sentence each


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a data file, decoded, and its JSON text."""

    key: str  # its key, or its line number from 0
    value: Any
    text: bytes = b""  # in UTF-8


_Found = tuple[str, tuple[Row, ...], tuple[str, ...]]  # fingerprint, rows, differences

_MOST = 64
_known: dict[tuple[Hashable, ...], _Found] = {}
"""The last data sets that this process has read, by the state of their files, because a run asks for each a dozen
times."""


def build_index(
    files: Sequence[Path],
    entries: Callable[[Path], Iterator[Entry]],
    describe: Callable[[Entry], tuple[str, Sequence[str]]],
    *,
    differences: Callable[[], Sequence[str]] = tuple,
    parts: int = 1,
    key: Hashable = None,
) -> Index:
    """The samples of ``files[0]``, or of the first ``parts`` files as if they were one.

    ``describe`` checks an entry and returns its id and keywords; it raises DataProblem. The other files are read by
    ``describe`` and belong to the fingerprint. ``differences`` is called when all entries are described, and returns
    how they differ from the official layout. Raises DataProblem for files that are missing or damaged.

    Files that have not changed are read once in a process for the same ``key``: by default ``entries`` and ``describe``
    themselves. Give a key if one of them is made anew for each call, such as a lambda: the data source, or a tuple of
    its name and of the options on which ids and keywords depend.
    """
    file, state = files[0], tuple(map(_state, files))
    place = (state, parts, (entries, describe) if key is None else key)
    found = _known.pop(place, None)
    if found is None:
        texts = _texts(state)
        rows: list[Row] = []
        for entry in (entry for part in files[:parts] for entry in entries(part)):
            id, tags = describe(entry)
            rows.append(Row(id, _shared(tuple(tags)), len(rows), texts.get(entry.text, entry.text)))
        check_ids(file, (row.id for row in rows))
        found = (_fingerprint(files), tuple(rows), tuple(differences()))
    _known[place] = found  # as the last
    if len(_known) > _MOST:
        _known.pop(next(iter(_known)), None)
    return Index(file.parent, file, *found)


def _texts(state: tuple[Hashable, ...]) -> dict[bytes, bytes]:
    """The texts of files that another task reads as well, to be held once."""
    rows = (row for (known, *_), (_, rows, _) in list(_known.items()) if known == state for row in rows)
    return {row.text: row.text for row in rows}


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


def object_entries(file: Path) -> Iterator[Entry]:
    """The values of a file that holds one JSON object, in the order of the file. Raises DataProblem."""
    text = _text(file)
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        raise DataProblem(
            f"{file} must hold one JSON object, of samples by number; it begins with {text[start : start + 20]!r}"
        )
    yield from _entries(file, text, "object", "{}")


def list_entries(file: Path) -> Iterator[Entry]:
    """The values of a file that holds one JSON list; positions from 0 are the keys. Raises DataProblem."""
    yield from _entries(file, _text(file), "list", "[]")


def _entries(file: Path, text: str, kind: str, brackets: str) -> Iterator[Entry]:
    """``kind``: list or object."""
    decoder = json.JSONDecoder()
    number = 0
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
            yield Entry(key, value, text[place:end].encode())
            number, place = number + 1, _skip(text, end)
    except (ValueError, RecursionError) as error:
        raise DataProblem(f"{file} is damaged: {in_words(error)}; correct it, or get it again") from None
    if rest := text[place + 1 :].strip():
        raise DataProblem(
            f"{file} is damaged: it continues after its {kind} with {rest[:20]!r}; correct it, or get it again"
        )


def first_line(file: Path) -> str:
    """The first line that is not blank, without the blanks around it; empty if there is none or the line is no text.
    Raises DataProblem."""
    with _opened(file) as stream:
        line = next((line for line in stream if line.strip(BOM_UTF8 + b" \t\r\n")), b"")
        _refuse_utf_16(file, line)
    return line.decode("utf-8-sig", "replace").strip()


def line_entries(file: Path) -> Iterator[Entry]:
    """The values of a JSON Lines file; blank lines are skipped. Raises DataProblem."""
    with _opened(file) as stream:
        for number, line in enumerate(stream):
            if number == 0:
                _refuse_utf_16(file, line)
                line = line.removeprefix(BOM_UTF8)
            if line.strip():
                try:
                    value = parse_json(line.decode())
                except ValueError as error:
                    why = (
                        f"{error.msg} at character {error.pos + 1}"
                        if isinstance(error, json.JSONDecodeError)
                        else error
                    )
                    raise DataProblem(
                        f"{file} is damaged in line {number + 1}: {why}; correct it, or get it again"
                    ) from None
                yield Entry(str(number), value, line.strip())


def _refuse_utf_16(file: Path, start: bytes) -> None:
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
            raise DataProblem(f"{file} is {kind}, and data is read more than once; save it as a file")
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


def _text(file: Path) -> str:
    """The file's text without its byte order mark."""
    with _opened(file) as stream:
        content = stream.read()
    _refuse_utf_16(file, content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataProblem(
            f"{file} is damaged: it is not UTF-8 text ({error.reason} at byte {error.start}); correct it, or"
            " get it again"
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


def _state(file: Path) -> tuple[str, int, int]:
    """What changes when a file is written. Raises DataProblem where it cannot be read."""
    with _opened(file) as stream:
        state = os.fstat(stream.fileno())
    return str(file.absolute()), state.st_size, state.st_mtime_ns


def _fingerprint(files: Sequence[Path]) -> str:
    content = hashlib.sha256()
    for file in files:
        with _opened(file) as stream:
            content.update(hashlib.file_digest(stream, "sha256").digest())
    return content.hexdigest()[:16]
