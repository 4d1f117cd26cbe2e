"""A run folder: the only thing that a run leaves behind.

    run.json        settings, versions, fingerprints, start and end
    planned.json    the cases that the run set out to do
    records.jsonl   one Record per case, merged from records/<worker>.jsonl
    files/          what tools produced, by task and sample
    stages/         of unfinished cases, what they have come to

Workers append whole lines with one ``os.write`` to a file of their own, so a killed worker loses nothing that it had
finished and tears no line of another's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.errors import UsageProblem
from harness.store.whole import encoded, write_whole
from harness.types import Record

FORMAT = 1
"""Version of the run folder. A change that makes old folders unreadable raises it."""

CaseId = tuple[str, str, int]
"""Task, sample id, attempt."""


class RunFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    # -- writing

    def refuse_taken(self) -> None:
        """Raises UsageProblem where the folder already holds a run."""
        if (self.path / "run.json").exists():
            raise UsageProblem(f"{self.path} already holds a run; continue it with --resume={self.path}, or name another --run-dir")

    def create(self) -> None:
        """Make the folder. Raises UsageProblem where that cannot be done."""
        try:
            (self.path / "records").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageProblem(f"the run folder {self.path} cannot be made ({error.strerror}); name another with --run-dir") from None

    def write_json(self, name: str, value: Any) -> None:
        """Replace a JSON file as a whole: a reader sees the old one or the new one."""
        write_whole(self.path / name, encoded(value, indent=2) + b"\n")

    def write_plan(self, cases: Mapping[CaseId, str]) -> None:
        """``cases``: case → pytest node id, in order."""
        self.write_json("planned.json", [[*case, node] for case, node in cases.items()])

    def discard_plan(self) -> None:
        """Take a plan back that will not be carried out, and the folder with it if it holds nothing else."""
        (self.path / "planned.json").unlink()
        for folder in (self.path / "records", self.path):
            if not any(folder.iterdir()):
                folder.rmdir()

    def write_records(self, lines: Iterable[Line]) -> None:
        """Write the merged records.jsonl."""
        target = self.path / "records.jsonl"
        scratch = target.with_name(f".records.{os.getpid()}")
        with scratch.open("wb") as stream:
            for line in lines:
                stream.write(line.raw())
        scratch.replace(target)

    def appender(self, worker: str) -> Appender:
        return Appender(self.path / "records" / f"{worker}.jsonl")

    def files(self, task: str, sample: str, attempt: int) -> Path:
        """Where a case's produced files go. Only made when a tool first writes there."""
        return self.path / "files" / task / f"{quote(sample, safe='')}-a{attempt}"

    def stage(self, task: str, sample: str, attempt: int) -> Path:
        """Where a case keeps what it has come to before its end."""
        return self.path / "stages" / task / f"{quote(sample, safe='')}-a{attempt}.json"

    # -- reading

    def read_json(self, name: str) -> Any:
        """Raises UsageProblem where the file is missing or damaged."""
        try:
            return json.loads((self.path / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageProblem(
                f"{self.path} is not a run folder: it has no {name}; name one that an earlier run wrote, such as runs/<time>-<model>"
            ) from None
        except (OSError, ValueError) as error:
            raise UsageProblem(f"{self.path / name} cannot be read: {error}") from None

    def plan(self) -> dict[CaseId, str]:
        """The planned cases and their pytest node ids, in order."""
        return {(task, sample, attempt): node for task, sample, attempt, node in self.read_json("planned.json")}

    def lines(self, order: Mapping[CaseId, int] | None = None) -> dict[CaseId, Line]:
        """Where the record of each case is, in the order of the plan; unplanned ones last.

        Of several, a finished one beats a broken one, and the latest beats the rest. A torn last line (the disk was full,
        the machine went down) is passed over: that case simply runs again.
        """
        order = order or {}
        best: dict[CaseId, Line] = {}
        for file in sorted((self.path / "records").glob("*.jsonl")):
            start = 0
            with file.open("rb") as stream:
                for text in stream:
                    if text.endswith(b"\n"):
                        data = json.loads(text)
                        case = (data["task"], data["sample"], data["attempt"])
                        line = Line(file, start, len(text), data["status"] in ("passed", "wrong"), data["finished"])
                        if case not in best or line.rank >= best[case].rank:
                            best[case] = line
                    start += len(text)
        return {case: best[case] for case in sorted(best, key=lambda case: (order.get(case, len(order)), case))}


@dataclass(frozen=True, slots=True)
class Line:
    """Where a record is. Stands for it in memory: a record with its transcript takes some tens of KB there."""

    file: Path
    start: int  # bytes
    size: int
    finished: bool  # with an answer, right or wrong
    at: float  # seconds since the epoch

    @property
    def rank(self) -> tuple[bool, float]:
        return (self.finished, self.at)

    def raw(self) -> bytes:
        with self.file.open("rb") as stream:
            stream.seek(self.start)
            return stream.read(self.size)

    def read(self) -> Record:
        return Record.from_json(json.loads(self.raw()))


class Appender:
    """Appends records to one worker's file; one system call a record."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end = os.fstat(self._file).st_size

    def append(self, record: Record) -> Line:
        """Write it, and say where it is."""
        text = json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n"
        data = memoryview(text.encode("utf-8", "backslashreplace"))  # half a surrogate pair stays an escape
        line = Line(self._path, self._end, len(data), record.status in ("passed", "wrong"), record.finished)
        while data:  # a regular file takes it all at once, save when the disk fills up
            written = os.write(self._file, data)
            self._end += written
            data = data[written:]
        return line

    def close(self) -> None:
        os.close(self._file)


def _drop_torn_line(path: Path) -> None:
    """What a machine that went down left half written would spoil the first record of the resumed run."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)
