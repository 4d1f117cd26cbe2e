"""Which case has killed its worker process.

A worker runs many cases at a time, and a case may end the whole process: a segmentation fault, too much memory, a call
of ``os._exit``. So each worker notes on disk which cases are running (``RunningCases``). After a death those cases are
suspects (``Suspects``): they run again, each with no other case beside it, until one of them kills the process again.
That one is guilty and broken. The others keep their results, or get them in the same run.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, whole
from agentgauge.core.types import Record
from agentgauge.run.settings import Settings, config_fingerprint
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import UNREADABLE, CaseId, outlined

RUNNING = "running"
"""Folder in the run folder: a file for each worker, whose lines say which cases began and ended. A worker that ends
properly removes its file."""

SUSPECTS = "suspects.json"
"""In the run folder, while there are suspects."""

CAUSE = "worker died"
"""The cause of a record whose case has killed its worker."""

GUILTY = "the worker process died twice while it ran this case, the second time with no other case running in it"


@dataclass(frozen=True, slots=True)
class InFlight:
    case: CaseId
    alone: bool  # no other case ran in the process
    since: float  # time.time()


class RunningCases:
    """Notes which cases of one worker are running: one line when a case begins and one when it ends."""

    def __init__(self, folder: Path, worker: str) -> None:
        """Raises OSError."""
        self._path = folder / RUNNING / f"{worker}.jsonl"
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def begin(self, case: CaseId, *, alone: bool) -> None:
        self._write(["+", *case, alone, round(time.time(), 1)])

    def end(self, case: CaseId) -> None:
        self._write(["-", *case])

    def _write(self, entry: list[object]) -> None:
        with contextlib.suppress(OSError):  # the disk is full, which stops the run when the next record is written
            os.write(self._file, json.dumps(entry).encode() + b"\n")

    def close(self) -> None:
        """No case of this worker is running any more."""
        os.close(self._file)
        self._path.unlink(missing_ok=True)


def unended(folder: Path, worker: str) -> list[InFlight]:
    """The cases that were running when a worker died, in the order in which they began; none if it ended properly."""
    try:
        with open_plain(folder / RUNNING / f"{worker}.jsonl") as stream:
            content = whole(stream)
    except (FileNotFoundError, UsageProblem, ValueError):
        return []
    running: dict[CaseId, InFlight] = {}
    for line in content.split(b"\n"):
        with contextlib.suppress(*UNREADABLE):  # the last line may be torn
            sign, task, sample, attempt, *begun = json.loads(line)
            case: CaseId = (task, sample, attempt)
            if sign == "+":
                alone, since = begun
                running[case] = InFlight(case, alone is True, float(since))
            else:
                running.pop(case, None)
    return list(running.values())


def longest_running(folder: Path) -> InFlight | None:
    """The case of a run that goes on which began first."""
    workers = [file.stem for file in (folder / RUNNING).glob("*.jsonl")]
    return min(
        (each for worker in workers for each in unended(folder, worker)), key=lambda each: each.since, default=None
    )


@dataclass
class Suspects:
    """Tests, one of which has killed a worker process; and cases that are known to have done so.

    ``groups``: the tests, by node id, that were running in one process when it died. ``guilty``: the cases that were
    found guilty before this session began, which does not run them.
    """

    groups: list[list[str]] = field(default_factory=list)
    guilty: list[CaseId] = field(default_factory=list)

    @staticmethod
    def read(folder: Path) -> Suspects:
        """Those of the run folder; none where it has no such file, or a damaged one."""
        try:
            with open_plain(folder / SUSPECTS) as stream:
                found = json.loads(whole(stream))
            groups = [[str(name) for name in group] for group in found["groups"]]
            return Suspects(groups, [(task, sample, attempt) for task, sample, attempt in found["guilty"]])
        except (FileNotFoundError, UsageProblem, *UNREADABLE):  # damaged: a case that kills its worker is found again
            return Suspects()

    def write(self, folder: Path) -> None:
        """Raises OSError."""
        if self.groups or self.guilty:
            RunFolder(folder).write_json(SUSPECTS, {"groups": self.groups, "guilty": self.guilty})
        else:
            (folder / SUSPECTS).unlink(missing_ok=True)

    @property
    def names(self) -> set[str]:
        return {name for group in self.groups for name in group}

    def worker_died(self, running: Iterable[str], reached: str, *, again: bool) -> bool:
        """A worker died while the tests ``running`` ran and pytest had reached the test ``reached``. Returns
        whether that one is guilty: it was a suspect, and nothing else was running. ``again``: it gets another attempt
        in any case, and stays a suspect."""
        together = sorted({*running, reached})
        if together == [reached] and reached in self.names:
            if again:
                return False
            self.groups = [group for group in self.groups if reached not in group]
            return True
        self.groups.append(together)
        return False


def note_earlier_death(settings: Settings) -> str:
    """Before a run is resumed, find the suspects that its last session has left, and make broken records of cases that
    are guilty. Returns a sentence for the user; empty if no process died. Raises OSError and UsageProblem.

    A session of one process leaves what was running when it died. The workers of a distributed session end with their
    controller, so only those count that had died before it.
    """
    folder = RunFolder(settings.run_dir)
    plan = folder.plan() if folder.has_plan else {}
    lines = folder.lines()
    unfinished = {case: node for case, node in plan.items() if case not in lines or not lines[case].finished}
    begun = [] if settings.patient else unended(folder.path, "main")
    running = [found for found in begun if found.case in unfinished]
    guilty = [found.case for found in running if found.alone]
    killers = [case for case in unfinished if case in lines and case not in guilty and _has_killed(lines[case])]
    groups = [[found.case for found in running if not found.alone], killers]
    earlier = [group for group in Suspects.read(folder.path).groups if not {plan[case] for case in guilty} & {*group}]
    names = [[unfinished[case] for case in group] for group in groups]
    names += [[name for name in group if name in unfinished.values()] for group in earlier]
    suspects = Suspects([group for group in names if group], guilty)
    for case in guilty:
        store_crash(settings, case, GUILTY)
    remove_running(folder.path)
    suspects.write(folder.path)
    return " ".join(_sentences(len(suspects.names), [plan[case] for case in guilty]))


def _has_killed(line: Line) -> bool:
    return line.status == "broken" and outlined(line.raw())["cause"] == CAUSE


def _sentences(count: int, guilty: Iterable[str]) -> Iterator[str]:
    """``count``: suspects."""
    if count:
        cases = "1 case was running when its process died; it runs"
        cases = cases if count == 1 else f"{count} cases were running when their process died; they run"
        yield f"{cases} first, with no other case in the process."
    for name in guilty:
        yield f"{name} is broken: {GUILTY}."


def remove_running(folder: Path) -> None:
    """Remove what is noted of running cases: all workers have ended."""
    for file in (folder / RUNNING).glob("*.jsonl"):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (folder / RUNNING).rmdir()


def store_crash(settings: Settings, case: CaseId, error: str) -> None:
    """Store the record of a case that has killed its worker. Called by the controller. Raises OSError."""
    config = config_fingerprint(settings, settings.tasks[case[0]])
    appender = RunFolder(settings.run_dir).appender("controller")
    record = Record(
        *case, config=config, status="broken", error=error, cause=CAUSE, worker="controller", finished=time.time()
    )
    appender.append(record)
    appender.close()
