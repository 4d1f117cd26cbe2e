"""Where the data of WildToolBench lies, how it is read and how ``agentgauge check`` judges it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.index import Index, Row
from agentgauge.core.task import DataSource
from agentgauge.core.types import Sample
from bench_wild import data, oracle
from bench_wild.check import TOOL_LISTS, lacks, read_tool_lists


class WildData(DataSource):
    """Sessions of one language, four tasks each."""

    name = "wild"
    folders = ("WildToolBench", "WildToolBench-main")
    group = "session"
    files = (data.FILES[0],)
    bundled = Path(__file__).with_name("mini")

    def __init__(self, language: str = "en", *, context: bool = True, skip_invalid: bool = False) -> None:
        self.language = language  # of the twins in the data: "en" or "zh"
        self.context = context  # tasks are sent after those before them
        self.skip_invalid = skip_invalid  # leave sessions out that break a rule, instead of refusing the file

    def is_in(self, root: Path) -> bool:
        """Whether a file of either release lies here, or in the folder ``data`` (as released)."""
        return data.find(root) is not None

    def index(self, root: Path) -> Index:
        found = data.index(root, self.language, skip_invalid=self.skip_invalid)
        if not found.rows and any(isinstance(one, data.Session) for one in self._sessions(found.file)):
            other = next(one for one in data.LANGUAGES if one != self.language)
            raise UsageProblem(
                f"{found.file} has no session in the language {self.language}; give --wild-language {other}"
            )
        if self.context:
            return found
        # without the tasks before them only later tasks say something: as upstream
        # (docs/benchmarks/wild.md#release-of-2025)
        return replace(found, rows=tuple(row for row in found.rows if data.split_id(row.id)[1] > 0))

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task, self.language)

    def group_of(self, row: Row) -> str:
        return data.split_id(row.id)[0]

    def labels_of(self, row: Row) -> Sequence[str]:
        """The task's type, then the turn's subtype."""
        return data.labels(row.tags)

    def left_out(self, root: Path) -> Sequence[str]:
        file = data.find(root)
        return [str(problem) for problem in data.problems(file, self.language)] if self.skip_invalid and file else ()

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        """Problems are broken rules and gold that no model can reach; oddities are gaps in lists of tools."""
        folder = self.find(folder) or folder
        file = data.find(folder)
        lists = [folder / name for name in TOOL_LISTS if (folder / name).is_file()]
        if file is None and not lists:
            raise UsageProblem(
                f"{folder} holds none of {', '.join((*data.FILES, *TOOL_LISTS))}; give a folder of WildToolBench's data"
            )
        problems, strange = list[str](), list[str]()
        if file:
            strange += data.differences(file)
        for one in self._sessions(file) if file else ():
            if isinstance(one, data.RecordProblem):
                problems.append(str(one))
            else:
                problems += oracle.unreachable(one)
                strange += [f"session {one.id!r}: {text}" for text in lacks(one.tools)]
        for path in lists:
            for number, tools in enumerate(read_tool_lists(path), 1):
                strange += [f"{path.name}, line {number}: {text}" for text in lacks(tools)]
        return problems, strange

    def _sessions(self, file: Path) -> list[data.Session | data.RecordProblem]:
        """The sessions of the run's language, or, where the file has none, of the other; with what is wrong in the
        file."""
        read: list[data.Session | data.RecordProblem] = []
        for language in (self.language, *data.LANGUAGES):
            read = list(data.read_sessions(file, language))
            if any(isinstance(one, data.Session) for one in read):
                break
        return read
