"""What an agent has delivered earlier, in a folder for each sample.

The folders may come from anybody, so links and special files are never followed, and sizes are bounded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentgauge.core.chat import ChatReply
from agentgauge.core.text import clean, one_line
from agentgauge.plugins.agents.answer import ANSWER, FINAL, TEXT, read_delivered
from agentgauge.plugins.agents.deliveries import FOLDER, Files, files_below, opened, plain_file
from agentgauge.plugins.agents.trajectory import FILE as TRAJECTORY
from agentgauge.plugins.agents.trajectory import MOST as MOST_TRAJECTORY
from agentgauge.plugins.agents.usage_file import RECORD, USAGE, OwnFigures, read_figures
from agentgauge.store.folder import sample_name

_DELIVERED = (ANSWER, TEXT, FINAL, FOLDER)
"""What makes a folder one of outputs."""

_LEVELS = 3  # of folders: task, sample, turn


@dataclass(frozen=True, slots=True)
class Output:
    """What an agent has delivered for a turn of a sample. ``problem``: why it cannot be used, or an empty text;
    ``note``: what is not used besides. ``request``: that the agent got; None: not known."""

    reply: ChatReply
    files: Files
    figures: OwnFigures
    problem: str = ""
    note: str = ""
    trajectory: bytes | None = None
    request: str | None = None


class Outputs(Protocol):
    """All outputs of an agent."""

    @property
    def name(self) -> str:
        """Of the agent."""

    def find(self, task: str, sample: str, turn: int) -> Output | None:
        """``turn``: of the user, from 1. None where nothing was delivered for it."""

    def has(self, task: str, sample: str) -> bool:
        """Whether there is an output of the first turn."""

    def places(self, task: str, sample: str) -> str:
        """Where that of a sample has to be, in words."""

    def digest(self) -> str:
        """A digest of everything that is read. Raises OSError."""


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """Outputs in folders: PATH/TASK/SAMPLE/, or else PATH/SAMPLE/. A later turn of the user has the folder turn2/, and
    so on, in that of its sample."""

    path: Path  # without links

    @property
    def name(self) -> str:
        return name_of(self.path)

    def find(self, task: str, sample: str, turn: int) -> Output | None:
        folder = self._folder(task, sample, turn)
        if folder is None:
            return None
        reply, problem = read_delivered(folder)
        figures, note = read_figures(folder, (RECORD, USAGE))
        trajectory = plain_file(folder / TRAJECTORY, MOST_TRAJECTORY)
        return Output(reply, files_below(folder / FOLDER), figures, problem, note, trajectory)

    def has(self, task: str, sample: str) -> bool:
        return self._folder(task, sample) is not None

    def places(self, task: str, sample: str) -> str:
        name = sample_name(sample)
        return f"{self.path / task / name} or {self.path / name}, with {', '.join(_DELIVERED[:-1])} or {FOLDER}/"

    def digest(self) -> str:
        return digest_of(self._groups())

    def _folder(self, task: str, sample: str, turn: int = 1) -> Path | None:
        name = sample_name(sample)
        for folder in (self.path / task / name, self.path / name):
            place = folder if turn == 1 else folder / f"turn{turn}"
            if place.resolve() == place and any(os.path.lexists(place / each) for each in _DELIVERED):
                return place
        return None

    def _groups(self) -> Iterable[Files]:
        """The files that may be read, whatever the samples are, by their paths."""
        waiting = [(self.path, 0)]
        while waiting:
            folder, level = waiting.pop()
            place = folder.relative_to(self.path)
            yield [(str(place / name), folder / name) for name in (*_DELIVERED[:-1], RECORD, USAGE, TRAJECTORY)]
            yield ((str(place / FOLDER / name), file) for name, file in files_below(folder / FOLDER))
            if level < _LEVELS:
                inner = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
                waiting += [(Path(path), level + 1) for path in inner]


def name_of(path: Path) -> str:
    """A file's or folder's name, as one line."""
    return clean(one_line(path.name))


def digest_of(groups: Iterable[Files]) -> str:
    """A digest of names and contents. The bounds of deliveries hold for each group. Raises OSError."""
    digest = hashlib.sha256()
    for files in groups:
        for name, file in opened(files):
            content = hashlib.file_digest(file, "sha256").hexdigest()
            digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()[:16]
