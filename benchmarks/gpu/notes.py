"""What a measurement notes: one line of JSON each, so that a part that is stopped keeps what it has measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True)
class Check:
    """A comparison of two answers. ``least`` or ``most`` is the tolerance; without one it only tells the value."""

    kind: ClassVar[str] = "checks"
    model: str
    what: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """Not met by a value that is no number."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    def __str__(self) -> str:
        bound = f" (≥ {self.least:g})" if self.least is not None else f" (≤ {self.most:g})" if self.most else ""
        return f"{self.model}: {self.what}: {self.value:.5g}{bound}{'' if self.met else ' WRONG'}"


@dataclass(frozen=True)
class Rate:
    """Calls a second of so many callers. ``batch``: most calls that go through the model at once."""

    kind: ClassVar[str] = "rates"
    model: str
    device: str
    callers: int
    batch: int
    rate: float

    def __str__(self) -> str:
        return f"{self.model} on {self.device}: {self.rate:.2f} calls/s, {self.callers} callers, batch {self.batch}"


@dataclass(frozen=True)
class Load:
    """Seconds from a folder of weights to a tool that takes calls. The first one also imports packages."""

    kind: ClassVar[str] = "loads"
    model: str
    device: str
    batch: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.model} on {self.device}: loaded in {self.seconds:.2f} s"


@dataclass(frozen=True)
class Memory:
    """What a tool server takes at its peak, in MB (10^6 bytes): of the GPU; on the processor resident memory."""

    kind: ClassVar[str] = "memory"
    processes: int  # of clients
    callers: int  # of all of them together
    mb: float
    rate: float  # calls a second

    def __str__(self) -> str:
        callers = f"{self.callers} callers of {self.processes} processes"
        return f"tool server: {self.mb:.0f} MB, {self.rate:.1f} calls/s, {callers}"


@dataclass(frozen=True)
class Run:
    """A whole run of GTA-Atomic."""

    kind: ClassVar[str] = "runs"
    cases: int
    passed: int
    status: int
    names_device: bool  # the run's header
    seconds: float

    def __str__(self) -> str:
        named = "names" if self.names_device else "does not name"
        told = f"exit status {self.status}, its header {named} the device"
        return f"a run of GTA-Atomic: {self.passed} of {self.cases} cases passed in {self.seconds:.0f} s, {told}"


Note = Check | Rate | Load | Memory | Run
KINDS: Mapping[str, type[Note]] = {one.kind: one for one in (Check, Rate, Load, Memory, Run)}


NOT_THERE = 3
"""Exit status of a part that lacks something."""


class NotThere(Exception):
    """What a part measures cannot be had here; says what is missing."""


@dataclass
class Notes:
    """Writes notes to a file, one after the other, and shows them."""

    path: Path

    def add(self, note: Note) -> None:
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"kind": note.kind, **asdict(note)}) + "\n")
        print(f"  {note}", flush=True)


def read(path: Path) -> list[Note]:
    """The notes of a file, without a last line that was cut; none where there is no file."""
    if not path.exists():
        return []
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [note(json.loads(line)) for line in whole.splitlines()]


def note(values: Mapping[str, Any]) -> Note:
    """The note of a line, or of an entry of the figures."""
    return KINDS[values["kind"]](**{name: value for name, value in values.items() if name != "kind"})
