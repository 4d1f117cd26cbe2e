"""Unpacking of untrusted archives, in one file or several, with ``zipfile``.

Every name and size is checked before the first byte is written, and written bytes are counted.
"""

from __future__ import annotations

import io
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from agentgauge.core.errors import DataProblem
from agentgauge.data.fetch.dataset import size

_CHUNK = 1 << 20
_UTF8 = 0x800
_ENCRYPTED = 0x1
_DIRECTORY = 32 << 20
"""Bytes of an archive's directory, which is read as a whole: far more than ``ArchiveLimits.entries`` names."""

_PATH, _LEVELS = 1024, 64
"""Bytes and folders of a path in an archive."""

_LITTLE = 64 << 20
"""Bytes up to which the ratio is not checked, because a few tables of zeros are harmless."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits for the content of an archive. GTA-Workflow, the largest, has about 6 GB of media that hardly shrink."""

    total: int = 40 << 30  # bytes
    entries: int = 200_000
    ratio: float = 60.0  # unpacked to packed, over the whole archive


LIMITS = ArchiveLimits()


def unpack(
    archive: str,
    parts: Sequence[Path],
    target: Path,
    check_space: Callable[[int], None],
    limits: ArchiveLimits = LIMITS,
) -> list[str]:
    """Unpack ``parts``, which together are ``archive``, into ``target``, an empty folder; one common top folder is
    taken off.

    ``check_space`` is given the bytes that will be written. Returns notes. Raises DataProblem for an archive that is
    damaged or too large, or that holds kinds of entries that no data set needs; ``target`` is then incomplete. Raises
    OSError if ``target`` cannot be written.
    """
    with JoinedFiles(parts) as raw, _BoundedReader(raw, _CHUNK) as stream:
        whole = stream.seek(0, io.SEEK_END)
        try:
            opened = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise _damaged(archive, error) from None
        with opened as packed:
            entries, notes = listed(archive, packed.infolist(), whole, limits)
            check_space(sum(info.file_size for info in entries.values()))
            for name, info in entries.items():
                path = target / name
                path.parent.mkdir(parents=True, exist_ok=True)
                try:
                    with packed.open(info) as source:
                        _write(f"{archive}: {name}", info.file_size, source, path)
                except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
                    raise _damaged(f"{archive}, {name}", error) from None
    return notes


def stays_inside(name: str) -> bool:
    """Whether an untrusted relative path stays below the folder that it is put in, on every system."""
    parts = name.removesuffix("/").split("/")
    odd = "\\" in name or re.match(r"[A-Za-z]:", name) or any(unicodedata.category(sign) == "Cc" for sign in name)
    return not odd and not any(part in ("", ".", "..") for part in parts)


class _BoundedReader(io.BufferedReader):
    """Refuses a directory of the archive that is so large that reading it would exhaust memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _DIRECTORY:
            raise zipfile.BadZipFile(f"it asks for {size} bytes at once")
        return super().read(size)


def listed(
    archive: str, infos: Sequence[zipfile.ZipInfo], whole: int, limits: ArchiveLimits
) -> tuple[dict[str, zipfile.ZipInfo], list[str]]:
    """The files of an archive of ``whole`` bytes by where they go, and notes on their names. Raises DataProblem as
    ``unpack``."""
    if len(infos) > limits.entries:
        raise DataProblem(
            f"{archive} holds {len(infos)} entries, more than the {limits.entries} that a data set may have; it is not"
            " unpacked"
        )
    notes, named = [], []
    for info in infos:
        name = _name(info)
        if name != info.filename:
            notes.append(f"{archive}: the name {info.filename!r} is read as UTF-8: {name!r}")
        _refuse_bad(archive, name, info)
        # files that file managers add
        if not (name.startswith("__MACOSX/") or PurePosixPath(name).name in (".DS_Store", "Thumbs.db", "desktop.ini")):
            named.append((name, info))
    files = [(name, info) for name, info in named if not name.endswith("/")]
    total, packed = sum(info.file_size for _, info in files), sum(info.compress_size for _, info in files)
    if packed > whole:
        raise DataProblem(
            f"{archive}: its entries overlap ({packed} packed bytes in a file of {whole}), as in a zip bomb; it is not"
            " unpacked"
        )
    if total > limits.total:
        raise DataProblem(
            f"{archive} would unpack to {size(total)}, more than the {size(limits.total)} that a data set may have"
        )
    if total > _LITTLE and total > limits.ratio * max(packed, 1):
        raise DataProblem(
            f"{archive} would unpack to {size(total)} from {size(packed)}, more than {limits.ratio:.0f} times, as a"
            " bomb does; it is not unpacked"
        )
    names = [name for name, _ in named]
    _refuse_equal(archive, names)
    if not files:
        raise DataProblem(f"{archive} holds no file")
    top = common_top(names)
    return {name.removeprefix(top): info for name, info in files}, notes


def common_top(names: Sequence[str]) -> str:
    """The one folder that everything lies in, with its slash; empty where there is none."""
    tops = {name.split("/", 1)[0] for name in names}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""


def _name(info: zipfile.ZipInfo) -> str:
    """The name, where the archive does not say its encoding: as UTF-8 if it can be that, as most programs write it."""
    if info.flag_bits & _UTF8 or info.filename.isascii():
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _refuse_bad(archive: str, name: str, info: zipfile.ZipInfo) -> None:
    parts = name.split("/")
    if not stays_inside(name) or not stays_inside(info.orig_filename):
        raise DataProblem(
            f"{archive} holds the path {info.orig_filename!r}, which is not a plain relative path; it is not unpacked"
        )
    lengths = [len(part.encode("utf-8", "surrogateescape")) for part in parts]
    if max(lengths) > 255 or sum(lengths) > _PATH or len(parts) > _LEVELS:
        raise DataProblem(
            f"{archive} holds a path that is too long for a file system, {name[:60]!r}...; it is not unpacked"
        )
    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "a link" if kind == stat.S_IFLNK else "a special file"
        raise DataProblem(f"{archive}: {name!r} is {what}, which no data set needs; it is not unpacked")
    if info.flag_bits & _ENCRYPTED:
        raise DataProblem(f"{archive}: {name!r} is encrypted; there is no password for it")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataProblem(
            f"{archive}: {name!r} has compression method {info.compress_type}; accepted are 0 and 8 (stored, deflated)"
        )


def _refuse_equal(archive: str, names: Sequence[str]) -> None:
    """Names that are one file somewhere: equal, of another case or another Unicode form, or a file and a folder at
    once."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for name in names:
        path, key = PurePosixPath(name), _key(name)
        if not name.endswith("/"):
            if key in files:
                raise DataProblem(
                    f"{archive} holds {files[key]!r} and {name!r}, which are one file on some systems; it is not"
                    " unpacked"
                )
            files[key] = name
        for folder in (path, *path.parents) if name.endswith("/") else path.parents:
            folders.setdefault(_key(str(folder)), name)
    for key, name in files.items():
        if key in folders:
            raise DataProblem(
                f"{archive} holds {name!r} as a file and, in {folders[key]!r}, as a folder; it is not unpacked"
            )


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _write(what: str, declared: int, source: IO[bytes], path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    written = 0
    with os.fdopen(handle, "wb") as stream:
        while written <= declared and (chunk := source.read(_CHUNK)):
            written += len(chunk)
            if written <= declared:
                stream.write(chunk)
    if written != declared:
        raise DataProblem(f"{what} does not have the {declared} bytes that the archive declares; get it again")


def _damaged(what: str, error: Exception) -> DataProblem:
    return DataProblem(
        f"{what} is damaged or cut off ({error or type(error).__name__}); it was removed, run the command again to"
        " download it again"
    )


# -- archives in parts, which are read as one without a copy

_ZIP = re.compile(r"(?P<archive>.+\.zip)", re.IGNORECASE)
_PART = re.compile(r"(?P<archive>.+\.zip)[._-]?(?:part)?[._-]?(?P<number>\d{1,4}|[a-z]{2,3})", re.IGNORECASE)
_PART_ALONE = re.compile(r"(?P<archive>.+)\.part[._-]?(?P<number>\d{1,4}|[a-z]{2,3})", re.IGNORECASE)
_SPANNED = re.compile(r"(?P<archive>.+)\.z\d\d", re.IGNORECASE)

ASSETS = r"(?i).+\.zip|.+\.zip[._-]?(part)?[._-]?(\d{1,4}|[a-z]{2,3})|.+\.part[._-]?(\d{1,4}|[a-z]{2,3})|.+\.z\d\d"
"""Names of archives and of their parts, as a regular expression."""


def archives(names: Iterable[str]) -> dict[str, list[str]]:
    """The archives among file names: archive → its files in order. Other files are left out.

    Raises DataProblem where a part is missing, and for archives that only a joining program reads (``.z01``).
    """
    found: dict[str, dict[int, str]] = {}
    for name in names:
        if _SPANNED.fullmatch(name):
            raise DataProblem(
                f"{name} is a part of a spanned archive, which is not read; join it with `zip -s 0` and give --data=DIR"
            )
        if match := _ZIP.fullmatch(name):
            found.setdefault(match["archive"], {})[-1] = name
        elif match := _PART.fullmatch(name) or _PART_ALONE.fullmatch(name):
            found.setdefault(match["archive"], {})[_number(match["number"].lower())] = name
    return {archive: _in_order(archive, parts) for archive, parts in sorted(found.items())}


def _number(text: str) -> int:
    """``001`` → 1; ``aa`` → 0, ``ab`` → 1, as ``split`` counts."""
    if text.isdecimal():
        return int(text)
    number = 0
    for letter in text:
        number = number * 26 + ord(letter) - ord("a")
    return number


def _in_order(archive: str, parts: dict[int, str]) -> list[str]:
    numbers = sorted(parts)
    if -1 in parts and len(parts) > 1:
        raise DataProblem(f"the source has {archive} both whole and in parts; it is not clear which is meant")
    first = numbers[0]
    if first > 1 or numbers != list(range(first, first + len(numbers))):
        raise DataProblem(f"parts of {archive} are missing: there are {', '.join(parts[number] for number in numbers)}")
    return [parts[number] for number in numbers]


class JoinedFiles(io.RawIOBase):
    """Files one after another, read as one. To be wrapped in ``io.BufferedReader``."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__()
        self._sizes = [path.stat().st_size for path in paths]
        self._streams = [path.open("rb", buffering=0) for path in paths]
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: sum(self._sizes)}[whence]
        if start + offset < 0:
            raise ValueError(f"{start + offset} is before the beginning")
        self._place = start + offset
        return self._place

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        start = 0
        for length, stream in zip(self._sizes, self._streams, strict=True):
            if start <= self._place < start + length:
                stream.seek(self._place - start)
                chunk = stream.read(min(len(buffer), start + length - self._place))
                buffer[: len(chunk)] = chunk
                self._place += len(chunk)
                return len(chunk)
            start += length
        return 0

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()
