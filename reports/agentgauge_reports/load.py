"""A finished run, read for reports: every case in outline, transcripts only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain
from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Record, Status, Usage
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, CaseOutline, decoded
from agentgauge_reports.notices import model_title

__all__ = ["UNFINISHED", "CaseOutline", "Reader", "Run", "computing", "load_run"]

UNFINISHED: tuple[Status, ...] = ("broken", "missing")

Reader = Callable[[CaseOutline], Record]


@dataclass(frozen=True)
class Run:
    """A run folder. ``cases`` are in the order of the plan and include cases that were not attempted,
    save a project's own tests."""

    path: Path
    about: Mapping[str, Any]  # run.json
    summary: Mapping[str, Any]  # summary.json
    cases: tuple[CaseOutline, ...]
    problems: Sequence[str] = ()  # lines that could not be read, a sentence each

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def model(self) -> str:
        return model_title(self.summary["run"])

    @cached_property
    def by_task(self) -> dict[str, list[CaseOutline]]:
        """Task → its cases."""
        found: dict[str, list[CaseOutline]] = {}
        for case in self.cases:
            found.setdefault(case.task, []).append(case)
        return found

    @cached_property
    def nodes(self) -> Mapping[CaseId, str]:
        """Case → pytest node id."""
        return RunFolder(self.path).plan()

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Gives a function that reads the full record of a case that was attempted."""
        with open_plain(self.path / "records.jsonl") as stream:

            def record(case: CaseOutline) -> Record:
                stream.seek(case.start)
                return decoded(stream.read(case.size))

            yield record


def load_run(
    path: Path,
    plan: Iterable[CaseId] | None = None,
    outlines: Mapping[CaseId, CaseOutline] | None = None,
    *,
    tolerant: bool = False,
) -> Run:
    """Read a run's folder. ``plan`` and ``outlines``: of this run, if the caller has just read them.

    Raises UsageProblem if the folder is no run folder, if the run was never summed up, and for a damaged record; with
    ``tolerant`` a case with a damaged record counts as missing.
    """
    problems: list[str] = []
    folder = RunFolder(path)
    about, summary = folder.read_json("run.json"), folder.read_json("summary.json")
    if outlines is None:
        outlines = {case.id: case for case in folder.outlines(problems if tolerant else None)}
    found = {case: outline for case, outline in outlines.items() if outline.task in summary["tasks"]}
    planned = [
        found.pop(case) if case in found else CaseOutline(*case, "missing", (), None, Usage(), 0.0, 0.0)
        for case in (folder.plan() if plan is None else plan)
        if case in found or not _is_own_test(case)  # pytest says which tests it did not run
    ]
    return Run(path, about, summary, (*planned, *found.values()), problems)


@contextmanager
def computing(task: str, *runs: Path) -> Iterator[None]:
    """While a task's own code computes figures from the values in records. Raises UsageProblem where it fails: another
    version wrote the values, or none did, or the code is wrong."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageProblem(
            f"the figures of {task} in {' and '.join(map(str, runs))} cannot be computed ({type(error).__name__}:"
            f" {error}): the scores in records.jsonl are of another version, or code of the benchmark is wrong; score"
            " them again with pytest --rescore=RUN"
        ) from error


def _is_own_test(case: CaseId) -> bool:
    """Whether a case is a test of a project's own."""
    task = known_tasks().get(case[0])
    return task is not None and task.data.in_run_folder
