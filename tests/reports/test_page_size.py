"""A page of 8,000 cases is small. What it costs is measured in ``benchmarks/test_scale.py``."""

from __future__ import annotations

import pytest
from agentgauge_reports.page import write_page

from agentgauge.core.task_registry import known_tasks
from agentgauge.core.types import Event
from tests.plugin.toy import Toy
from tests.reports.page_runs import chunks, page_data, record, write_run

pytestmark = pytest.mark.slow


def test_a_page_of_8000_cases_is_under_5_mb(monkeypatch, tmp_path):
    monkeypatch.setitem(known_tasks(), Toy.name, Toy())
    talk = "The quick brown fox jumps over the lazy dog, and then thinks about it for a while. " * 12
    events = [
        event
        for number in range(4)
        for event in (
            Event(
                "model",
                "m",
                0,
                0.1,
                {"messages": [{"role": "user", "content": f"{number} {talk}"}], "reply": f"{talk} {number}"},
            ),
            Event(
                "tool",
                f"Tool{number}",
                0,
                0.1,
                {"arguments": {"query": talk[:200]}, "result": [{"type": "text", "content": talk}]},
            ),
        )
    ]

    def asked(number):
        """A question of its own, as long as the list shows it."""
        yield Event("model", "m", 0, 0.1, {"messages": [{"role": "user", "content": f"{number} {talk}"}], "reply": ""})
        yield from events

    cases = (record(number, events=list(asked(number)), passed=number % 3 == 0) for number in range(8000))
    run = write_run(tmp_path / "run", cases)
    page = write_page(run, run / "report.html")
    assert page.stat().st_size < 5_000_000
    assert len(page_data(page)["texts"]) > 8000
    assert sum(map(len, chunks(page))) == 8000
