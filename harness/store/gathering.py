"""Which record counts for each case: found in a run folder's files, all at once or while they grow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

from harness.errors import UsageProblem
from harness.store.lines import Line, outline, outlined

if TYPE_CHECKING:
    from harness.store.folder import CaseId
    from harness.types import Record


class Gathering:
    """Of several records of a case a finished one beats a broken one, and the latest beats the rest.

    A torn last line (the disk was full, the machine went down) is passed over: that case simply runs again.
    """

    def __init__(self, run: Path, *, with_outlines: bool = False) -> None:
        """``with_outlines``: each with the record in outline, which takes longer, and a KB."""
        self._run = run
        self._with_outlines = with_outlines
        self._best: dict[CaseId, tuple[Line, Record | None]] = {}
        self._been: dict[Path, tuple[int, int]] = {}  # file → bytes and lines of it that have been read

    def take(self, file: Path, count: int | None = None) -> None:
        """Read the next lines of a file, at most ``count``, as far as they are whole. Raises UsageProblem for a damaged one."""
        start, number = self._been.get(file, (0, 0))
        last = None if count is None else number + count
        with file.open("rb") as stream:
            stream.seek(start)
            while number != last and (text := stream.readline()).endswith(b"\n"):
                number += 1
                self._add(file, number, start, text)
                start += len(text)
        self._been[file] = start, number

    def all(self, order: Mapping[CaseId, int]) -> dict[CaseId, tuple[Line, Record | None]]:
        """Read all that has not been read. The order of files matters only between copies of one record.

        Returns the best of each case, by ``order``; those that are not in it last. Keeps nothing: this ends it. Raises UsageProblem
        for a damaged line.
        """
        merged = self._run / "records.jsonl"
        for file in ([merged] if merged.exists() else []) + parts(self._run):
            self.take(file)
        best, self._best = self._best, {}
        return {case: best[case] for case in sorted(best, key=lambda case: (order.get(case, len(order)), case))}

    def _add(self, file: Path, number: int, start: int, text: bytes) -> None:
        try:
            data = outlined(text)
            case = (intern(data["task"]), data["sample"], data["attempt"])
            line = Line.of(data, file, start, len(text))
            record = outline(data) if self._with_outlines else None
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(self._run, file, number, error) from None
        if case not in self._best or line.rank >= self._best[case][0].rank:
            self._best[case] = (line, record)


def parts(run: Path) -> list[Path]:
    """The workers' files."""
    return sorted((run / "records").glob("*.jsonl"))


def damaged(run: Path, file: Path, number: int, error: Exception) -> UsageProblem:
    """``number``: of the line, from 1."""
    return UsageProblem(
        f"{file} is damaged in line {number}: {error!r}; take that line out and go on with --resume={run}: its case runs again"
    )
