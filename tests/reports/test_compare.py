"""Two runs side by side: their figures, and warnings of what differs besides the model."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main

OCR = {"state": "ready", "version": 1, "backend": "RapidOCR"}
RUN: Any = {
    "summary": {
        "run": {
            "model": "m1",
            "dialect": "native",
            "scoring": "parity",
            "attempts": 1,
            "agentgauge": "0.1.0",
            "data": {"t": {"fingerprint": "f"}},
            "prompts": {"t": "p", "dialect": ""},
            "options": {},
        },
        "tasks": {"t": {"planned": 3, "metrics": {"Acc": {"value": 40.0}, "Other": {"value": None}}}},
    },
    "run": {"settings": {"tools": {"OCR": OCR}}},
}


def written(folder: Path, run: Any) -> str:
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(run["summary"]))
    (folder / "run.json").write_text(json.dumps(run["run"]))
    return str(folder)


def compared(tmp_path: Path, capsys: pytest.CaptureFixture[str], *changes: tuple[str, Any]) -> str:
    """What is printed for a run and the same with changes: (path with dots, value)."""
    other = copy.deepcopy(RUN)
    for path, value in changes:
        *way, last = path.split(".")
        place = other
        for key in way:
            place = place[key]
        place[last] = value
    assert main(["compare", written(tmp_path / "a", RUN), written(tmp_path / "b", other)]) == 0
    return capsys.readouterr().out


def test_figures_stand_side_by_side_without_a_word_where_only_the_model_differs(tmp_path, capsys):
    out = compared(tmp_path, capsys, ("summary.run.model", "m2"), ("summary.tasks.t.metrics.Acc.value", 42.5))
    rows = [line.split() for line in out.splitlines()]
    assert ["Acc", "40.00", "42.50", "+2.50"] in rows and ["Other", "-", "-"] in rows
    assert "(m2)" in out and "warning" not in out


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("run.settings.tools.OCR", {**OCR, "backend": "EasyOCR"}, "the tool sets differ: OCR has backend 'RapidOCR' and 'EasyOCR'"),
        ("run.settings.tools.OCR", {**OCR, "weights": "abc"}, "the tool sets differ: OCR has weights None and 'abc'"),
        ("run.settings.tools.Plot", OCR, "the tool sets differ: only one run has Plot"),
        ("summary.run.data.t.fingerprint", "g", "t: the data sets differ"),
        ("summary.tasks.t.planned", 2, "t: A has 3 cases, B 2"),
        ("summary.run.scoring", "strict", "scoring differs: 'parity' and 'strict'"),
        ("summary.run.prompts.t", "q", "prompts of t differ: 'p' and 'q'"),
    ],
)
def test_whatever_else_differs_is_warned_of(tmp_path, capsys, path, value, told):
    assert f"warning: {told}\n" in compared(tmp_path, capsys, (path, value))


def test_runs_that_cannot_be_compared_are_refused_in_a_sentence(tmp_path, capsys):
    other = copy.deepcopy(RUN)
    other["summary"]["tasks"] = {"u": RUN["summary"]["tasks"]["t"]}
    assert main(["compare", written(tmp_path / "a", RUN), written(tmp_path / "b", other)]) == 4
    assert "have no task in common; they ran t and u" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "a"), str(tmp_path)]) == 4
    assert "is not a run folder" in capsys.readouterr().err
