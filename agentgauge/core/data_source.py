"""Where the data of a task lies, and how it is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.types import Sample


class DataSource(ABC):
    """A data set in its official layout, and a bundled one in the same layout."""

    name: str  # folder name of the official data below a data folder: "gta_atomic"
    folders: tuple[str, ...] = ()  # further such names: those that the original's archives and repositories unpack to
    files: tuple[str, ...]  # files that must lie there, relative: ("dataset.json", "toolmeta.json")
    bundled: Path  # folder of the bundled data set
    in_run_folder = False  # the samples come into being with a run, and lie in its folder
    group = "group"  # what a group of samples is called: "session"
    whole = False  # the bundled data set is the official one, and no small one in its place

    def find(self, folder: Path) -> Path | None:
        """The first of the candidate folders that has the data. None if none has."""
        return next((root for root in self.candidate_folders(folder) if self.is_in(root)), None)

    def candidate_folders(self, folder: Path) -> list[Path]:
        """``folder`` itself, its folder ``name`` or one of ``folders``, and one of ``folders`` within each of these."""
        first = [folder, *(folder / name for name in (self.name, *self.folders))]
        return list(dict.fromkeys([*first, *(root / name for root in first[1:] for name in self.folders)]))

    def is_in(self, root: Path) -> bool:
        """Whether the data lies directly in this folder."""
        return all((root / file).is_file() for file in self.files)

    @abstractmethod
    def index(self, root: Path) -> Index:
        """List the samples below ``root``. Raises DataProblem when they are missing or damaged."""

    @abstractmethod
    def load(self, index: Index, row: Row, task: str) -> Sample:
        """Read one sample, for the task of that name."""

    def group_of(self, row: Row) -> str:
        """The group of samples that must run on one machine, such as a session; a single sample's group is its id.

        Figures over groups (``MetricFormula.join``) count a group only if all of its samples in the data set are there;
        for these the name is that of ``Score.group``.
        """
        return row.id

    def labels_of(self, row: Row) -> Sequence[str]:
        """The labels whose shares ``--limit`` keeps, the primary one first; by default the first keyword alone."""
        return row.tags[:1]

    def differences(self, root: Path) -> Sequence[str]:
        """How the layout below ``root`` differs from the official one; one sentence each. The data is read anyway."""
        return self.index(root).differences

    def left_out(self, root: Path) -> Sequence[str]:
        """The samples below ``root`` that an option leaves out, with the reason; one sentence each."""
        return ()

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        """The problems of the data in ``folder``, and its oddities that are no problems; one sentence each.

        Raises UsageProblem where there is none, DataProblem where nothing can be read.
        """
        root = self.find(folder)
        if root is None:
            raise UsageProblem(f"{folder} holds no data of {self.name}; looked for {', '.join(self.files)}")
        return [], [f"{root}: {text}" for text in self.differences(root)]
