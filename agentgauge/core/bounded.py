"""Files of a run folder, which may come from anywhere: only plain ones are opened, and what is read has a bound."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from agentgauge.core.errors import UsageProblem

LONGEST = 64 << 20
"""Bytes of a JSON file, of a line, and of a transcript that a line holds compressed."""

TOO_LONG = f"longer than {LONGEST >> 20} MB"

_BLOCK = 1 << 20


class TextLine(NamedTuple):
    number: int  # from 1
    start: int  # bytes
    size: int
    is_whole: bool  # it has its end
    kept: bytes | None  # None: it is longer than LONGEST

    @property
    def content(self) -> bytes:
        """Raises ValueError for a line that is too long to be read."""
        if self.kept is None:
            raise ValueError(f"it is {TOO_LONG}")
        return self.kept


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading. Raises FileNotFoundError, and UsageProblem for another one that cannot be opened, or is
    a folder, a pipe or a device."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would wait for a writer
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageProblem(f"{path} cannot be read ({why}); it must be a file that you may read") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UsageProblem(f"{path} is not a plain file; move it away, and restore the file that the run wrote")
    return os.fdopen(file, "rb")


def whole(stream: BinaryIO) -> bytes:
    """The content of a file. Raises ValueError where it is longer than LONGEST."""
    if (size := os.fstat(stream.fileno()).st_size) > LONGEST:
        raise ValueError(f"it is {TOO_LONG}")
    return stream.read(size)


def lines(stream: BinaryIO, start: int = 0) -> Iterator[TextLine]:
    """The lines from ``start`` bytes on. They end at line feeds only; the last one may lack its end."""
    stream.seek(start)
    number = 0
    while text := stream.readline(LONGEST + 1):
        number += 1
        size = len(text)
        kept: bytes | None = text
        if size > LONGEST:
            kept = None
            while not text.endswith(b"\n") and (text := stream.readline(_BLOCK)):
                size += len(text)
        yield TextLine(number, start, size, text.endswith(b"\n"), kept)
        start += size
