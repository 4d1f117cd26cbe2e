"""Archives in one file or several: which assets belong together, and how they are read as one without a copy."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from agentgauge.core.errors import DataProblem

_ZIP = re.compile(r"(?P<archive>.+\.zip)", re.IGNORECASE)
_PART = re.compile(r"(?P<archive>.+\.zip)[._-]?(?:part)?[._-]?(?P<number>\d{1,4}|[a-z]{2,3})", re.IGNORECASE)
_PART_ALONE = re.compile(r"(?P<archive>.+)\.part[._-]?(?P<number>\d{1,4}|[a-z]{2,3})", re.IGNORECASE)
_SPANNED = re.compile(r"(?P<archive>.+)\.z\d\d", re.IGNORECASE)

ASSETS = r"(?i).+\.zip|.+\.zip[._-]?(part)?[._-]?(\d{1,4}|[a-z]{2,3})|.+\.part[._-]?(\d{1,4}|[a-z]{2,3})|.+\.z\d\d"
"""Names of archives and of their parts, as a regular expression."""


def archives(names: Iterable[str]) -> dict[str, list[str]]:
    """The archives among file names: archive → its files in order. What is no archive is left out.

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


class Joined(io.RawIOBase):
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
        for size, stream in zip(self._sizes, self._streams, strict=True):
            if start <= self._place < start + size:
                stream.seek(self._place - start)
                chunk = stream.read(min(len(buffer), start + size - self._place))
                buffer[: len(chunk)] = chunk
                self._place += len(chunk)
                return len(chunk)
            start += size
        return 0

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        super().close()
