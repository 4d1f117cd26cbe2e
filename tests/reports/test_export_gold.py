"""The gold of every benchmark that has a layout: run, exported and scored again, it is perfect in any order of keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from bench_gta.atomic import task as gta
from bench_mmau import task as mmau
from bench_wild import task as wild
from tests.plugin.project import run_gta, run_mmau, run_wild, summary
from tests.reports.runs import INSTALLED

pytestmark = pytest.mark.slow

OTHERS = ("gta_atomic.step", "gta_atomic.e2e", "gta_workflow", "wild")
REFUSED = [
    *("mmau.contest_planner", "mmau.contest_retry", "mmau.math_planner"),
    *("mmau.ds_codegen", "mmau.ds_e2e", "mmau.ds_oracle", "mmau.ds_retry"),
]
MMAU = sorted(task.name for task in mmau.TASKS)
LINES = [*(name for name in MMAU if name not in REFUSED), "wild"]
"""Those whose files have a record on each line; the others' have one under each key."""

LAYOUTS = ("gta_atomic", "gta_workflow", "wild", "mmau")
GOLD = ("--model", "oracle")

ATOMIC = "(gta_atomic_step and not [0]) or [8] or [10] or [28] or [31] or [33]"
"""Nearly all samples step by step, which calls no tool, and end to end a few of every category whose tools load nothing
heavy."""
WORKFLOW = "[8] or [11] or [12]"  # nothing that the judge has to read in a picture

BELOW = {
    "Root Score": (10, 0),  # of 10
    **{"Progress": (76.6, 0.01), "Progress Mixed": (65.625, 0)},  # counted along one of several paths
    **dict.fromkeys("POLC", (100, 0.001)),  # two epsilons keep it below
}
"""What the gold reaches of headline figures that are not 100, and how exactly."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the gold for each layout, and below ``out`` its files: with keys beyond 9, and with whole sessions."""
    folder = tmp_path_factory.mktemp("gold")
    run_gta("-m", "gta_atomic_step or gta_atomic_e2e", *GOLD, "-k", ATOMIC, "--run-dir=gta_atomic", cwd=folder)
    run_gta("-m", "gta_workflow", *GOLD, "-k", WORKFLOW, "--run-dir=gta_workflow", cwd=folder)
    run_wild(*GOLD, "--run-dir=wild", cwd=folder)
    run_mmau(*GOLD, "--limit=2", "-k", "not ds_e2e and not ds_oracle and not _retry", "--run-dir=mmau", cwd=folder)
    for layout in LAYOUTS:
        assert main(["report", str(folder / layout), "--format", layout, "--output", str(folder / "out" / layout)]) == 0
    return folder


def predictions(exported: Path, task: str) -> Path:
    pattern = {
        "gta_atomic.step": "gta_atomic/step/predictions/oracle/gta_bench.json",
        "gta_atomic.e2e": "gta_atomic/e2e/predictions/oracle/gta_bench.json",
        "gta_workflow": "gta_workflow/*.json",
        "wild": "wild/result/oracle/*.jsonl",
    }.get(task, f"mmau/*_{task.removeprefix('mmau.')}_response.jsonl")
    (file,) = (exported / "out").glob(pattern)
    return file


def score(task: str, file: Path) -> list[str]:
    samples = INSTALLED[task].data.bundled
    if task.startswith("gta_atomic"):
        samples = file.parents[2] / "gta_dataset"  # of a part of the data, as this run is
    return ["score", task, "--samples", str(samples), "--predictions", str(file), "--json"]


def test_every_layout_is_here() -> None:
    ours = {task.name for task in (gta.STEP, gta.E2E, wild.WILD, *mmau.TASKS)} | {"gta_workflow"}
    assert ours == {*OTHERS, *MMAU} == {task.name for task in INSTALLED if task.files}


def figures(exported: Path, task: str) -> dict[str, Any]:
    (layout,) = (layout for layout in LAYOUTS if task.startswith(layout))
    return summary(exported / layout)["tasks"][task]["metrics"]


@pytest.mark.parametrize("task", [*OTHERS, *(name for name in MMAU if name not in REFUSED)])
def test_the_gold_is_perfect_in_any_order(task: str, exported: Path, capsys: Any) -> None:
    file = predictions(exported, task)
    text = file.read_text(encoding="utf-8")
    if task in LINES:
        changed = "".join(f"{line}\n" for line in reversed(text.splitlines()))
    else:
        entries = json.loads(text)
        keys = sorted(entries, reverse=True)  # "9", "8" ... "11", "10", "1"
        changed = json.dumps({key: entries[key] for key in keys})
    assert changed != text
    other = file.with_name("reordered" + file.suffix)  # beside what tools made
    other.write_text(changed, encoding="utf-8")
    assert main(score(task, other)) == 0
    other.unlink()
    told = json.loads(capsys.readouterr().out)
    found = told.get("columns", told["metrics"])
    own = {name: metric["value"] for name, metric in figures(exported, task).items() if name in found}
    assert {name: found[name] for name in own} == pytest.approx(own)
    published = INSTALLED[task].shown.published
    headline = [name for name in published if own[name] is not None]
    assert len(headline) >= len(published) - 1  # one task in sixteen has a part in C-SR
    for name in headline:
        value, off = BELOW.get(name, (100, 0))
        assert found[name] == pytest.approx(value, abs=off), name
    assert all(sample["passed"] for sample in told["samples"])


@pytest.mark.parametrize("task", ["mmau.contest_planner", "mmau.math_planner", "mmau.ds_codegen"])
def test_what_takes_a_model_is_refused(task: str, exported: Path, capsys: Any) -> None:
    assert main(score(task, predictions(exported, task))) == 4
    assert f"a response file of {task} cannot be scored by itself: that takes" in capsys.readouterr().err
