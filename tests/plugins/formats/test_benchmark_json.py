"""Times of cases as pytest-benchmark has those of tests: one entry for the model, one for the tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from agentgauge_reports.formats.benchmark_json import entries
from agentgauge_reports.load import load_run

from agentgauge.core.types import Record
from tests.reports.runs import TASKS, record, write_run


def timed(number: int, *, attempt: int = 1, status: str = "passed", **times: float) -> Record:
    made = record(number, attempt=attempt)
    assert made.transcript
    return replace(made, status=status, transcript=replace(made.transcript, times=times))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([timed(1, endpoint=2.0)], {"s1-model": [2.0]}),
        ([timed(1, endpoint=2.0, tools=0.5, slots=0.25)], {"s1-model": [2.0], "s1-tools": [0.5]}),
        ([timed(1, tools=0.5)], {"s1-tools": [0.5]}),
        ([timed(1, endpoint=2.0, status="wrong")], {"s1-model": [2.0]}),
        ([timed(1, endpoint=2.0, status="broken"), timed(2, endpoint=1.0)], {"s2-model": [1.0]}),
        ([timed(1, endpoint=2.0, cached=3.0)], {}),
        ([timed(1)], {}),  # of an earlier version
        (
            [timed(1, endpoint=2.0, tools=0.5), timed(1, attempt=2, endpoint=4.0), timed(2, endpoint=1.5)],
            {"s1-model": [2.0, 4.0], "s1-tools": [0.5, 0.0], "s2-model": [1.5]},
        ),
    ],
)
def test_times_of_samples(tmp_path: Path, records: list[Record], expected: dict[str, list[float]]) -> None:
    run = load_run(write_run(tmp_path / "run", records), tasks=TASKS)
    assert {entry["param"]: entry["stats"]["data"] for entry in entries(run)} == expected


def test_an_entry(tmp_path: Path) -> None:
    attempts = [timed(1, attempt=number + 1, endpoint=float(number)) for number in (1, 2, 3, 4, 5)]
    (entry,) = entries(load_run(write_run(tmp_path / "run", attempts), tasks=TASKS))
    stats = entry.pop("stats")
    assert entry == {
        "group": "toy.say model",
        "name": "test[s1-model]",
        "fullname": "x.py::test[s1-model]",
        "params": {"sample": "s1", "time": "model"},
        "param": "s1-model",
        "extra_info": {"task": "toy.say", "node": "x.py::test[s1]"},
        "options": {},
    }
    assert stats == {
        **{"data": [1.0, 2.0, 3.0, 4.0, 5.0], "iterations": 1, "rounds": 5, "total": 15.0, "ops": pytest.approx(1 / 3)},
        **{"min": 1.0, "max": 5.0, "mean": 3.0, "median": 3.0, "stddev": pytest.approx(2.5**0.5)},
        **{"q1": 1.75, "q3": 4.25, "iqr": 2.5, "ld15iqr": 1.0, "hd15iqr": 5.0},
        **{"outliers": "2;0", "stddev_outliers": 2, "iqr_outliers": 0},
    }
