"""Where the requests of batches are, as the progress line says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.plugins.batch.counts import FILE, FORM, Counts
from agentgauge.run.coordination.numbers import Numbers
from agentgauge.run.progress import RunLine


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(), ""),
        (Counts(waiting=1), "1 request waits for a batch"),
        (Counts(12, 500, 1, 2), "12 requests wait for a batch · 500 submitted in 1 batch · 2 batches done"),
        (Counts(0, 700, 2, 1), "700 submitted in 2 batches · 1 batch done"),
    ],
)
def test_where_the_requests_of_batches_are(counts: Counts, text: str) -> None:
    assert str(counts) == text


class Known:
    """A run of which nothing has ended."""

    def read(self, started: float) -> None: ...

    def state(self) -> dict[str, object]:
        task = {"name": "t", "planned": 9, "passed": 0, "wrong": 0, "broken": 0}
        return {"tasks": [task], "left": None, "tokens": 0, "usd": 0.0}


def test_the_progress_line_has_those_of_all_processes(tmp_path: Path) -> None:
    Numbers(tmp_path / FILE, FORM, 0).write(1, 20, 1, 3)
    Numbers(tmp_path / FILE, FORM, 2).write(0, 5, 1, 0)
    said = (
        "0/9 · passed 0 · wrong 0 · broken 0 · 1 request waits for a batch · 25 submitted in 2 batches · 3 batches done"
    )
    line = RunLine(tmp_path, Known())
    assert line.text().startswith(said)
    assert "batch" not in line.text(ended=True)
