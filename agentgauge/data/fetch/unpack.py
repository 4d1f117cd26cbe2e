"""Unpacking of untrusted archives with ``zipfile``.

Every name and size is checked before the first byte is written, and written bytes are counted.
"""

from __future__ import annotations

import io
import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from agentgauge.core.errors import DataProblem
from agentgauge.data.fetch.archive import Joined
from agentgauge.data.fetch.progress import size
from agentgauge.data.fetch.source import stays_inside

_CHUNK = 1 << 20
_UTF8 = 0x800
_ENCRYPTED = 0x1
_DIRECTORY = 32 << 20
"""Bytes of an archive's directory, which is read as a whole: far more than ``Limits.entries`` names."""

_LITTLE = 64 << 20
"""Bytes up to which the ratio is not checked: a few tables of zeros are no attack."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may hold. GTA-Workflow, the largest, has about 6 GB of media that hardly shrink."""

    total: int = 40 << 30  # bytes
    entries: int = 200_000
    ratio: float = 60.0  # unpacked to packed, over the whole archive


LIMITS = Limits()


def unpack(
    archive: str, parts: Sequence[Path], target: Path, check_space: Callable[[int], None], limits: Limits = LIMITS
) -> list[str]:
    """Unpack ``parts``, which together are ``archive``, into ``target``, an empty folder; one common top folder is
    taken off.

    ``check_space`` is given the bytes that will be written. Returns notes. Raises DataProblem for an archive that is
    damaged, holds what no data set needs, or is larger than it may be; ``target`` is then in pieces, and OSError where
    it cannot be written.
    """
    with Joined(parts) as raw, _BoundedReader(raw, _CHUNK) as stream:
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


class _BoundedReader(io.BufferedReader):
    """Refuses a directory of the archive that is so large that reading it would exhaust memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _DIRECTORY:
            raise zipfile.BadZipFile(f"it asks for {size} bytes at once")
        return super().read(size)


def listed(
    archive: str, infos: Sequence[zipfile.ZipInfo], whole: int, limits: Limits
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
            f"{archive}: its entries overlap ({packed} packed bytes in a file of {whole}), as in a bomb; it is not"
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
            f"{archive} holds the path {info.orig_filename!r}, which does not stay plainly in its folder; it is not"
            " unpacked"
        )
    if any(len(part.encode("utf-8", "surrogateescape")) > 255 for part in parts):
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
            f"{archive}: {name!r} is packed by method {info.compress_type}; stored (0) and deflated (8) are read"
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
        raise DataProblem(f"{what} has not the {declared} bytes that the archive declares; get it again")


def _damaged(what: str, error: Exception) -> DataProblem:
    return DataProblem(
        f"{what} is damaged or cut off ({error or type(error).__name__}); it was removed, run the command again to get"
        " it anew"
    )
