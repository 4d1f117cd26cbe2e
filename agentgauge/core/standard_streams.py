"""Standard output and standard error that cannot be written: a full disk, a pipe without a reader, a closed
descriptor."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any


class Output:
    """A text stream that calls ``lost`` once, when it cannot be written. Everything is dropped from then on."""

    def __init__(self, stream: Any, lost: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._lost = lost
        self.error: OSError | None = None  # why it cannot be written

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def close(self) -> None:
        self._try(self._stream.close)

    def _try(self, step: Callable[[], object]) -> None:
        if self.error is None:
            try:
                step()
            except OSError as error:
                self.error = error
                drop(self._stream)
                self._lost(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drop(stream: Any) -> None:
    """Let what a stream has buffered go nowhere, because the interpreter writes that when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it has no descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def lost_output(error: OSError) -> str:
    """The sentence about it."""
    return f"standard output cannot be written ({error.strerror or error})"


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams, because the next file would get their descriptors."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor
            os.set_inheritable(descriptor, True)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
