"""Reports which sequences are covered, and why the others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench_wild.generate.ledger import Ledger
from bench_wild.generate.sequences import Tasks, name_of

Status = Literal["done", "failed", "missing"]

SHOWN = 16
"""A table of so many sequences is shown as a whole; of more only what is not done."""
NAMED = 4
"""Sequences with the same outcome that are listed by name."""


@dataclass(frozen=True)
class Row:
    """One sequence."""

    sequence: str
    status: Status  # missing: no attempt came to an end
    failures: int
    why: str  # the last failure, or what ended the run before

    def __str__(self) -> str:
        times = f"failed {self.failures} {'time' if self.failures == 1 else 'times'}"
        if self.status == "done":
            return f"done, {times} before" if self.failures else "done"
        return f"{times if self.status == 'failed' else 'missing'}: {self.why}"


def coverage(sequences: Sequence[Tasks], ledger: Ledger, stopped: str) -> list[Row]:
    """One row for each sequence, in their order. ``stopped`` says why the run ended early; empty: it did not."""
    rows = []
    for name in map(name_of, sequences):
        failed = ledger.failed.get(name, [])
        if name in ledger.done:
            rows.append(Row(name, "done", len(failed), ""))
        elif failed:
            rows.append(Row(name, "failed", len(failed), failed[-1].message))
        else:
            rows.append(Row(name, "missing", 0, stopped or "not attempted"))
    return rows


def table(rows: Sequence[Row], *, whole: bool = False) -> str:
    """The rows as text, and a line of totals. Unless ``whole``, a long table has only the rows that are not done, and
    joins equal ones."""
    if whole or len(rows) <= SHOWN:
        width = max((len(row.sequence) for row in rows), default=0)
        lines = [f"  {row.sequence:{width}}  {row}" for row in rows]
    else:
        alike: dict[str, list[str]] = {}
        for row in rows:
            if row.status != "done":
                alike.setdefault(str(row), []).append(row.sequence)
        lines = [f"  {_some(names)}  {text}" for text, names in alike.items()]
    counts = Counter(row.status for row in rows)
    totals = [f"{counts['done']} of {len(rows)} sequences are covered"]
    totals += [f"{counts[status]} {status}" for status in ("failed", "missing") if counts[status]]
    return "\n".join([*lines, ", ".join(totals)])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
