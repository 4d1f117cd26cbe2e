"""Records finished and failed attempts in the output folder, so that a killed run can continue.

``dialogues.jsonl`` has one finished dialogue a line, with the requests that were kept; ``failures.jsonl`` one attempt a
line that failed. Each line is one write to a file opened with O_APPEND, so that a kill loses no line that was written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.files import append_whole, encoded, write_whole
from agentgauge.core.text import parse_json
from bench_wild.generate.dialogue.dialogue import DIALOGUES, Dialogue
from bench_wild.generate.dialogue.dialogue_state import KeptRequest
from bench_wild.generate.sequences import name_of

FAILURES = "failures.jsonl"


@dataclass(frozen=True)
class Failed:
    """An attempt that ended without a dialogue."""

    sequence: str
    attempt: int
    cause: str  # short and stable
    message: str
    replies: tuple[Mapping[str, str], ...] = ()  # all of the attempt, whole: part, model, reply; in the file alone


class Ledger:
    """Belongs to one process. Raises DataProblem for a damaged line that is not the last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in (DIALOGUES, FAILURES):
            _mend(folder / name)
        self.done: dict[str, tuple[int, int]] = {}  # sequence to place and length of its line, the first of each
        self.failed: dict[str, list[Failed]] = {}
        for place, length, value in _lines(folder / DIALOGUES):
            self.done.setdefault(name_of(value["sequence"]), (place, length))
        for _, _, value in _lines(folder / FAILURES):
            self.note(Failed(**{**value, "replies": ()}))

    def next_attempt(self, sequence: str) -> int:
        """The number of the next attempt, from 1. It continues after the attempts of earlier runs, so that no number is
        repeated."""
        return max((failed.attempt for failed in self.failed.get(sequence, ())), default=0) + 1

    def add(self, dialogue: Dialogue, kept: list[KeptRequest]) -> None:
        """Write a finished dialogue. Raises OSError when the disk is full."""
        prompts = list(dict.fromkeys(request.prompt for request in kept))
        numbers = {prompt: number for number, prompt in enumerate(prompts)}
        requests = [{**asdict(request), "prompt": numbers[request.prompt]} for request in kept]
        line = {**dialogue.to_json(), "prompts": prompts, "requests": requests}
        self.done[name_of(dialogue.sequence)] = self._append(DIALOGUES, line)

    def fail(self, failed: Failed) -> None:
        self.note(replace(failed, replies=()))
        self._append(FAILURES, asdict(failed))

    def note(self, failed: Failed) -> None:
        """Remember a failure without writing it down."""
        self.failed.setdefault(failed.sequence, []).append(failed)

    def dialogues(self, order: Iterator[str] | list[str]) -> Iterator[tuple[Dialogue, list[KeptRequest], bytes]]:
        """The finished dialogues of these sequences with their lines, one in memory at a time."""
        if not self.done:
            return
        with (self._folder / DIALOGUES).open("rb") as stream:
            for name in order:
                if name not in self.done:
                    continue
                place, length = self.done[name]
                stream.seek(place)
                line = stream.read(length)
                value = parse_json(line)
                prompts, requests = value["prompts"], value["requests"]
                kept = [KeptRequest(**{**request, "prompt": prompts[request["prompt"]]}) for request in requests]
                yield Dialogue.from_json(value), kept, line

    def sort_failures(self, order: list[str]) -> None:
        """Write the failures anew in the order of sequences and attempts. Raises OSError."""
        path = self._folder / FAILURES
        if path.exists():
            values = sorted(
                (value for _, _, value in _lines(path)),
                key=lambda value: (order.index(value["sequence"]), value["attempt"]),
            )
            write_whole(path, b"".join(encoded(value) + b"\n" for value in values))

    def _append(self, name: str, value: Mapping[str, Any]) -> tuple[int, int]:
        line = encoded(dict(value)) + b"\n"
        path = self._folder / name
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            place = os.fstat(descriptor).st_size
            append_whole(path, descriptor, line)
        finally:
            os.close(descriptor)
        return place, len(line)


def _mend(path: Path) -> None:
    """Take off a last line that a killed run left incomplete."""
    if path.exists():
        with path.open("rb+") as stream:
            content = stream.read()
            if content and not content.endswith(b"\n"):
                stream.truncate(content.rfind(b"\n") + 1)


def _lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(place, length, value) of every line."""
    if not path.exists():
        return
    place = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                value = parse_json(line)
                value["sequence"]
            except (ValueError, KeyError, TypeError):
                raise DataProblem(f"{path}, line {number} is damaged; take the line out and run again") from None
            yield place, len(line), value
            place += len(line)
