"""A run folder: the only thing that a run leaves behind.

    run.json        settings, versions, fingerprints, start and end
    planned.json    the cases that the run set out to do
    records.jsonl   one Record per case, merged from records/<worker>.jsonl
    files/          what tools produced, by task and sample

Workers append whole lines with one ``os.write`` to a file of their own, so a killed worker loses nothing that it had
finished and tears no line of another's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from harness.errors import UsageProblem
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
        target = self.path / name
        scratch = target.with_name(f".{name}.{os.getpid()}")
        scratch.write_text(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False) + "\n", encoding="utf-8")
        scratch.replace(target)

    def write_plan(self, cases: Mapping[CaseId, str]) -> None:
        """``cases``: case → pytest node id, in order."""
        self.write_json("planned.json", [[*case, node] for case, node in cases.items()])

    def discard_plan(self) -> None:
        """Take a plan back that will not be carried out, and the folder with it if it holds nothing else."""
        (self.path / "planned.json").unlink()
        for folder in (self.path / "records", self.path):
            if not any(folder.iterdir()):
                folder.rmdir()

    def write_records(self, records: Iterable[Record]) -> None:
        """Write the merged records.jsonl."""
        target = self.path / "records.jsonl"
        scratch = target.with_name(f".records.{os.getpid()}")
        with scratch.open("w", encoding="utf-8") as stream:
            for record in records:
                stream.write(_line(record))
        scratch.replace(target)

    def appender(self, worker: str) -> Appender:
        return Appender(self.path / "records" / f"{worker}.jsonl")

    def files(self, task: str, sample: str, attempt: int) -> Path:
        """Where a case's produced files go. Only made when a tool first writes there."""
        return self.path / "files" / task / f"{quote(sample, safe='')}-a{attempt}"

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

    def records(self) -> Iterator[Record]:
        """Every record of every worker, in no particular order, repeats included.

        A torn last line (the disk was full, the machine went down) is passed over: that case simply runs again.
        """
        for file in sorted((self.path / "records").glob("*.jsonl")):
            with file.open("rb") as stream:
                for line in stream:
                    if line.endswith(b"\n"):
                        yield Record.from_json(json.loads(line))


class Appender:
    """Appends records to one worker's file; one system call a record."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, record: Record) -> None:
        data = memoryview(_line(record).encode("utf-8"))
        while data:  # a regular file takes it all at once, save when the disk fills up
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        os.close(self._file)


def _drop_torn_line(path: Path) -> None:
    """What a machine that went down left half written would spoil the first record of the resumed run."""
    if path.exists():
        content = path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)


def merge(records: Iterable[Record], order: Mapping[CaseId, int]) -> list[Record]:
    """One record per case, in the order of the plan (unplanned ones last).

    Of several, a finished one beats a broken one, and the latest beats the rest.
    """
    best: dict[CaseId, Record] = {}
    for record in records:
        case = (record.task, record.sample, record.attempt)
        known = best.get(case)
        if known is None or _rank(record) >= _rank(known):
            best[case] = record
    return [best[case] for case in sorted(best, key=lambda case: (order.get(case, len(order)), case))]


def _rank(record: Record) -> tuple[bool, float]:
    return (record.status in ("passed", "wrong"), record.finished)


def _line(record: Record) -> str:
    return json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":")) + "\n"
