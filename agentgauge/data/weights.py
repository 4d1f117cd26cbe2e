"""Weights of models that tools use: what is known of a set, where ``agentgauge fetch`` puts it, and its verification.

A set is fetched as a data set is: pinned and checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import counted
from agentgauge.data.fetch.dataset import DataSet, FetchedFile, Verified, read_note, size
from agentgauge.data.fetch.sources import Hub, Source

FOLDER = "weights"
"""Folder of all sets, below the data folder."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    name: str  # on the command line and in settings: "whisper-base"
    published: str  # its name at the origin, which settings accept, too: "openai/whisper-base"
    size: int  # bytes, about
    licence: str  # one sentence, which says where it is stated if it is stated in several places
    used_by: tuple[str, ...]  # tools
    setting: str  # what makes them use it
    source: Source
    needed: tuple[str, ...]  # file name patterns of which each must be there
    checksums: Mapping[str, str] = field(default_factory=dict)  # file → SHA-256, where known; the origin tells others
    file: str = ""  # what is loaded, where that is a file and not the folder

    def place(self, base: Path) -> Path:
        """What is loaded, below a data folder; it need not be there."""
        return base / FOLDER / self.name / self.file

    @property
    def data_set(self) -> DataSet:
        return DataSet(
            name=self.name,
            title=self.published,
            folder=f"{FOLDER}/{self.name}",
            main=self.needed,
            licence=self.licence,
            citation=(),
            homepage=self.source.identity,
            sources={"hub" if isinstance(self.source, Hub) else "github": self.source},
            verify=partial(verify, self.needed),
            kind="model",
            needed=self.needed,
            checksums=self.checksums,
            use=f"{', '.join(self.used_by)}: {self.setting}",
        )


def verify(needed: tuple[str, ...], root: Path) -> Verified:
    """Read every file again and compare it with what was fetched. Raises UsageProblem for a folder that was not fetched
    and has not what is needed."""
    note = read_note(root)
    if note is None:
        if lacking := [pattern for pattern in needed if not any(root.glob(pattern))]:
            raise UsageProblem(f"it has no {lacking[0]}")
        return Verified(0, ("nothing is known of its checksums",))
    damages = [_damage(root / name, one, contents=True) for name, one in note.files.items()]
    whole = sum(one.size for one in note.files.values())
    return Verified(0, (f"{counted(len(note.files), 'file')}, {size(whole)}",), tuple(text for text in damages if text))


def damages(root: Path, files: Mapping[str, FetchedFile]) -> list[str]:
    """The fetched files that are missing or have another size. Contents are not read."""
    return [text for name, one in files.items() if (text := _damage(root / name, one, contents=False))]


def _damage(path: Path, known: FetchedFile, *, contents: bool) -> str:
    if not path.is_file():
        return f"{path.name} is missing"
    if (now := path.stat().st_size) != known.size:
        return f"{path.name} has {now} bytes instead of {known.size}"
    if not contents:
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return (
        ""
        if digest.hexdigest() == known.sha256
        else f"{path.name} has SHA-256 {digest.hexdigest()} instead of {known.sha256}"
    )
