"""Counts of requests and of tokens from the workers to the progress line. Each worker writes its counts to a file of
the run folder, which is created when a count is not 0. The outages of endpoints have a file of their own."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from agentgauge.model.batch.batch import NONE, Counts
from agentgauge.model.outage import outage_words, outages

FILE = "waiting"
OLD = 120.0
"""Seconds from which a request has waited long. It is named in the progress line, and may still be answered."""

_ENTRY = struct.Struct("<5iiq")


class Waiting(NamedTuple):
    late: int = 0  # requests that have waited long for an answer
    batched: Counts = NONE
    running: int = 0  # requests that were sent and have no answer yet
    tokens: int = 0  # of the replies so far
    outages: str = ""  # that go on, in words


class WaitingRequests:
    """The entry of one worker, whose number counts from 0."""

    def __init__(self, folder: Path, number: int) -> None:
        self._path = folder / FILE
        self._number = number
        # a worker that died may have left its entry
        self._written: Waiting | None = None if self._path.exists() else Waiting()

    def write(self, late: int, batched: Counts = NONE, running: int = 0, tokens: int = 0) -> None:
        waiting = Waiting(late, batched, running, tokens)
        if waiting == self._written:
            return
        self._written = waiting
        with suppress(OSError):  # a full disk, say, which records will name; this is for the screen alone
            self._put(waiting)

    def _put(self, waiting: Waiting) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            entry = _ENTRY.pack(waiting.late, *waiting.batched, waiting.running, waiting.tokens)
            os.pwrite(file, entry, _ENTRY.size * self._number)
        finally:
            os.close(file)


def waiting_requests(folder: Path) -> Waiting:
    """The sum over all workers."""
    words = outage_words(outages(folder, time.time()))
    try:
        content = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return Waiting(outages=words)
    whole = len(content) // _ENTRY.size * _ENTRY.size
    entries = _ENTRY.iter_unpack(bytes(_ENTRY.size) + content[:whole])  # of no worker, and of each
    late, *batched, running, tokens = map(sum, zip(*entries, strict=True))
    return Waiting(late, Counts(*batched), running, tokens, words)
