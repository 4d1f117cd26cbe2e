"""The baseline's figures beside those of a run: shown where they were measured under the same conditions, else not."""

from __future__ import annotations

import copy

import pytest
from agentgauge_reports.page import floor as module
from agentgauge_reports.page.floor import floor, measured

SUMMARY = {
    "run": {
        "model": "gpt",
        "attempts": 1,
        "scoring": "parity",
        "options": {"--wild-evaluator": "2026", "--mmau-judge": "oracle"},
        "data": {"wild": {"fingerprint": "f", "samples": 4}, "mmau.math": {"fingerprint": "g", "samples": 2}},
    },
    "tasks": {
        "wild": {
            "planned": 4,
            "missing": 0,
            "broken": 0,
            "metrics": {"Task": {"value": 25.0}, "Session": {"value": 0.0}},
        },
        "mmau.math": {"planned": 2, "missing": 0, "broken": 0, "metrics": {}},
    },
    "capabilities": {"Apple MMAU": {"combined": {"mmau": {"value": 12.5}}}},
}


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ((), None, 25.0),
        (("run", "options", "--mmau-judge"), "gpt", 25.0),
        (("run", "model"), "baseline", None),
        (("run", "data", "wild", "fingerprint"), "x", None),
        (("run", "data", "wild", "samples"), 8, None),
        (("run", "scoring"), "strict", None),
        (("run", "options", "--wild-evaluator"), "2025", None),
        (("tasks", "wild", "missing"), 1, None),
    ],
    ids=["same", "another benchmark's option", "itself", "data", "a part of it", "scoring", "option", "missing cases"],
)
def test_a_floor_is_of_the_same_data_options_and_scoring(monkeypatch, path, value, shown):
    monkeypatch.setattr(module, "_known", lambda: measured(SUMMARY))
    summary = copy.deepcopy(SUMMARY)
    place = summary
    for name in path[:-1]:
        place = place[name]
    if path:
        place[path[-1]] = value
    assert floor(("wild", "Task"), summary) == shown


def test_figures_over_several_tasks_have_a_floor_and_others_have_none(monkeypatch):
    monkeypatch.setattr(module, "_known", lambda: measured(SUMMARY))
    assert floor(("combined", "mmau"), SUMMARY) == 12.5
    assert floor(("gta_atomic.e2e", "AnsAcc"), SUMMARY) is None
