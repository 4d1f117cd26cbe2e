"""A finished run, read for reports: every case in outline, transcripts only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from harness.errors import UsageProblem
from harness.store import RunFolder
from harness.store.folder import CaseId, Outline
from harness.store.lines import decoded
from harness.types import Record, Score, Status, Usage

UNFINISHED: tuple[Status, ...] = ("broken", "missing")


@dataclass(frozen=True, slots=True)
class CaseOutline:
    """A case without what was said in it."""

    task: str
    sample: str
    attempt: int  # from 1
    status: Status
    tags: tuple[str, ...]
    score: Score | None  # without the explanation; None where it is broken or missing
    usage: Usage
    seconds: float
    finished: float  # seconds since the epoch; 0 for a case that is missing
    error: str | None = None
    cause: str | None = None
    start: int = -1  # of its line in records.jsonl, bytes; -1: there is none
    size: int = 0

    @property
    def id(self) -> CaseId:
        return (self.task, self.sample, self.attempt)


@dataclass(frozen=True)
class Run:
    """A run folder. ``cases`` are in the order of the plan, those that were not attempted among them."""

    path: Path
    about: Mapping[str, Any]  # run.json
    summary: Mapping[str, Any]  # summary.json
    nodes: Mapping[CaseId, str]  # case → pytest node id
    cases: tuple[CaseOutline, ...]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def model(self) -> str:
        return str(self.summary["run"]["model"])

    def record(self, case: CaseOutline) -> Record:
        """Everything that is known of a case. Raises UsageProblem for one that was not attempted."""
        with self.reading() as record:
            return record(case)

    @contextmanager
    def reading(self) -> Iterator[Callable[[CaseOutline], Record]]:
        """``record`` for many cases, which opens the file once."""
        with (self.path / "records.jsonl").open("rb") as stream:

            def record(case: CaseOutline) -> Record:
                if case.start < 0:
                    raise UsageProblem(f"{self.path}: the case {case.task} {case.sample} was not attempted; there is nothing to read")
                stream.seek(case.start)
                return decoded(stream.read(case.size))

            yield record


def load_run(path: Path, outlines: Iterable[Outline] | None = None) -> Run:
    """Read a run's folder. ``outlines``: its own, where they have just been read.

    Raises UsageProblem where it is none, or where the run was never summed up.
    """
    folder = RunFolder(path)
    about, summary = folder.read_json("run.json"), folder.read_json("summary.json")
    nodes = folder.plan()
    found = {case.id: case for case in starmap(_outline, folder.outlines() if outlines is None else outlines)}
    missing = (CaseOutline(*case, "missing", (), None, Usage(), 0.0, 0.0) for case in nodes if case not in found)
    known = found | {case.id: case for case in missing}
    order = {case: number for number, case in enumerate(nodes)}
    return Run(path, about, summary, nodes, tuple(sorted(known.values(), key=lambda case: order.get(case.id, len(order)))))


def handed_over(outlines: list[Outline]) -> Iterator[Outline]:
    """Each in its turn. The list lets go of them, so that a run need not be in memory twice."""
    outlines.reverse()
    while outlines:
        yield outlines.pop()


def _outline(record: Record, start: int, size: int) -> CaseOutline:
    said = record.transcript
    return CaseOutline(
        record.task,
        record.sample,
        record.attempt,
        record.status,
        record.tags,
        record.score,
        said.usage if said else Usage(),
        said.seconds if said else 0.0,
        record.finished,
        record.error,
        record.cause,
        start,
        size,
    )
