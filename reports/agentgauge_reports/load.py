"""A finished run, read for reports: every case in outline, transcripts only when asked for, and the files of its cases.

A model may have written a text, and a stranger the run folder: no text, and no field of run.json, leads to another file
of this machine.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgauge.core.checking import shown
from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.files import is_disk_full, open_plain
from agentgauge.core.registry import Registry
from agentgauge.core.text import counted
from agentgauge.core.types import RUN_TOKEN, Record, Status, Usage
from agentgauge.data.find import find_data, find_used_data
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, CaseOutline, decoded
from agentgauge_reports.notices import model_title

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
    tasks: Registry  # all that are known, with the run's options
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
    tasks: Registry,
    tolerant: bool = False,
) -> Run:
    """Read a run's folder. ``plan`` and ``outlines``: of this run, if the caller has just read them. ``tasks``: all
    that are known.

    Raises UsageProblem if the folder is no run folder, if the run was never summed up, for an option's value that its
    tasks do not accept any more, for a plan with other tasks than the summary, and for a damaged record; with
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
        if case in found or not _is_own_test(case, tasks)  # pytest says which tests it did not run
    ]
    if unknown := {case.task for case in planned} - {*summary["tasks"]}:
        raise UsageProblem(
            f"planned.json of {path} names the task {shown(min(unknown))}, which its summary.json lacks: one of them"
            " was changed by hand; sum the run up again with pytest --rescore=RUN"
        )
    configured = tasks.configured(about["settings"]["options"])
    configured.unknown |= unknown_tasks(folder, summary, tasks)
    return Run(path, about, summary, (*planned, *found.values()), configured, problems)


def unknown_tasks(folder: RunFolder, summary: Mapping[str, Any], tasks: Registry) -> dict[str, str]:
    """The tasks of a run that are not among ``tasks``, and a sentence for each. It names the file that the run had the
    task from; nothing imports that file unless the user names it."""
    found = {}
    if lacking := [name for name in summary["tasks"] if name not in tasks]:
        nodes = {case[0]: node for case, node in folder.plan().items()}  # one of each task
        for name in lacking:
            node = nodes.get(name, "")
            file = shlex.quote(node.partition("::")[0] or "FILE")
            found[name] = (
                f"{folder.path} has the task {shown(name)}, which no installed package announces; name the file that"
                f" defines it: agentgauge --tasks {file} COMMAND ...; in Python, hand the task in: tasks=[...]"
            )
    return found


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


def _is_own_test(case: CaseId, tasks: Registry) -> bool:
    """Whether a case is a test of a project's own."""
    task = tasks.get(case[0])
    return task is not None and task.data.in_run_folder


# -- cases that a report could not show


class Omitted:
    """Collects the cases that one report could not show. ``problems``: lines of the run that could not be read, a
    sentence each. ``notes``: other notes about the report."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._cases: list[str] = []  # names
        self._first = ""  # why the first of them is not shown

    def add(self, name: str, error: Exception) -> str:
        """Add a case that could not be shown. Returns the text that replaces it.

        Raises the error if it means that the disk is full.
        """
        if is_disk_full(error):
            raise error
        why = f"{type(error).__name__}: {error}"[:200]
        self._first = self._first or why
        self._cases.append(name)
        return f"This case cannot be shown here ({why}); its record is in records.jsonl."

    def sentences(self, where: str) -> list[str]:
        """Sentences for the user; none if all cases are shown."""
        if not self._cases:
            return [*self.problems, *self.notes]
        cases = counted(len(self._cases), "case")
        first = f"{self._cases[0]} ({self._first})"
        return [*self.problems, *self.notes, f"{cases} cannot be shown in {where}, the first of them {first}"]


# -- the files of cases as texts name them


class RunFiles:
    """The files of a run's cases, which lie in its folder, or in that of the run that it scores again."""

    def __init__(self, run: Path, about: Mapping[str, Any]) -> None:
        """``about``: the run's run.json."""
        scored = about.get("rescore")
        self.folder, self._below = run.absolute(), ""
        if scored and (Path(scored) / "run.json").is_file():
            self.folder, self._below = Path(scored).absolute(), "files"  # only run.json names it: what tools made there

    def find(self, path: str) -> Path | None:
        """The file of a path with RUN_TOKEN; None for any other path, and for one that leads elsewhere."""
        token, _, rest = path.partition("/")
        return plain_file(self.folder, rest, self._below) if token == RUN_TOKEN else None


def plain_file(folder: Path, rest: str, below: str = "") -> Path | None:
    """The plain file at ``folder``/``rest`` if it lies below ``folder``/``below``, also when links are followed."""
    try:
        folder = folder.resolve()
        file = (folder / rest).resolve()
        found = file.is_relative_to(folder / below) and stat.S_ISREG(file.stat().st_mode)
    except (OSError, ValueError, RuntimeError):  # no path at all: too long, with a NUL, or a circle of links
        return None
    return file if found and os.access(file, os.R_OK) else None


def refuse_odd_files(run: Path, folder: Path) -> None:
    """Before the files of a case are copied with their ``folder``: raises UsageProblem where it lies behind a link, and
    where it holds something that is neither file, folder nor link. Links in it are copied as links."""
    if not folder.exists():
        return
    if folder.resolve() != run.resolve() / folder.relative_to(run):
        raise UsageProblem(f"{folder} is a link or lies behind one; put the folder there that the run made")
    for path in (Path(place, name) for place, _, names in os.walk(folder) for name in names) if folder.is_dir() else ():
        if not (path.is_symlink() or path.is_file()):
            raise UsageProblem(f"{path} is no file, but a pipe, socket or device; remove it")


def shown_data(about: Mapping[str, Any], tasks: Registry) -> tuple[dict[str, Path], str]:
    """Task → the data whose files a report may show, and a sentence if some are left out.

    ``about``: a run's run.json. That it names a folder is no reason to show files from there: it must be the bundled
    data, or lie where official data is looked for.
    """
    try:
        used, _ = find_used_data(tasks, about, Path.cwd())
    except AgentGaugeError as problem:
        return {}, f"Files of the data set are not shown: {problem}."
    known = [find_data(tasks, data, Path.cwd())[0] for data in ("auto", "mini")]
    allowed = {(name, root.resolve()) for roots in known for name, root in roots.items()}
    roots = {name: root for name, root in used.items() if (name, root.resolve()) in allowed}
    if others := sorted({str(root) for name, root in used.items() if name not in roots}):
        advice = f"if that is your data set, set AGENTGAUGE_DATA={others[0]}"
        return roots, f"Files of the data set are not shown, because only run.json names {others[0]}; {advice}."
    return roots, ""
