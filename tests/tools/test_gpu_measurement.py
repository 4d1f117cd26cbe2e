"""The measurement on a GPU: what it says where there is none, a dry run on the processor, its table."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import __main__ as script
from benchmarks.gpu import part
from benchmarks.gpu.detectors import farthest
from benchmarks.gpu.notes import Check, Load, Memory, Notes, Rate, Run, read
from benchmarks.gpu.rates import rate
from benchmarks.gpu.table import MARK, PAGE, table, write
from tests.plugin.project import ROOT
from tool_impls.arguments import Box
from tool_impls.perception.detection.detector import Hit

NEEDED = {
    "detection": "ultralytics",
    "open-detection": "transformers",
    "fixed-detection": "transformers",
    "vision": "transformers",
    "speech": "transformers",
    "similarity": "sentence_transformers",
    "pictures": "diffusers",
    "ocr": "rapidocr",
    "server": "transformers",
    "run": "transformers",
}
"""By part a package without which there is nothing to measure."""


def ran(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "XDG_CACHE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.gpu", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=1800)


def test_without_a_gpu_nothing_is_measured_and_nothing_is_wrong(tmp_path: Path) -> None:
    done = ran("--figures", str(tmp_path / "figures.json"), home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("not measured on a GPU: ") and not (tmp_path / "figures.json").exists()


@pytest.mark.slow
def test_a_dry_run_on_the_processor_measures_every_part(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = ran("--device", "cpu", "--small", "--figures", str(tmp_path / "figures.json"), home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    noted = json.loads((tmp_path / "figures.json").read_text())
    outcomes = {one["part"]: one["outcome"] for one in noted["parts"]}
    there = {name for name, package in NEEDED.items() if find_spec(package)}
    assert outcomes.keys() == NEEDED.keys()
    assert {name for name, outcome in outcomes.items() if outcome == "measured"} == there, done.stdout
    assert all(outcomes[name].startswith("not there: ") for name in outcomes.keys() - there)
    assert all(check["met"] for check in noted["checks"]) and all(one["rate"] > 0 for one in noted["rates"])
    assert [(one["processes"], one["callers"]) for one in noted["memory"]] == [(1, 1), (2, 4)]
    (run,) = noted["runs"]
    assert (run["status"], run["cases"], run["names_device"]) == (0, 2, True)
    assert "| detection (bundled detector) |" in table(noted)
    with pytest.raises(SystemExit, match="of a dry run on processor"):
        write(noted, PAGE)


# -- its parts


@pytest.mark.parametrize(
    ("code", "seconds", "outcome"),
    [
        ("", 20, "measured"),
        ("print('no such package'); raise SystemExit(3)", 20, "not there: no such package"),
        ("raise ValueError('no weights')", 20, "failed: ValueError: no weights"),
        ("import time; time.sleep(60)", 1, "stopped after 1 s"),
        ("", 0.5, "no time left"),
    ],
)
def test_a_part_is_bounded_and_told(monkeypatch: pytest.MonkeyPatch, code: str, seconds: float, outcome: str) -> None:
    monkeypatch.setattr(script, "command", lambda words: [sys.executable, "-c", code])
    start = time.monotonic()
    assert script.outcome_of(["detection"], seconds) == outcome
    assert time.monotonic() - start < 20


@pytest.mark.parametrize(("met", "status"), [(True, 0), (False, 1)])
def test_only_a_wrong_answer_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, met: bool, status: int
) -> None:
    check = {"model": "m", "what": "w", "value": 2.0, "least": None, "most": 1.0, "met": met}
    parts = [{"part": "vision", "outcome": "failed: OSError", "seconds": 1.0}]
    figures = {"parts": parts, "checks": [check], "rates": [], "loads": [], "memory": [], "runs": []}
    monkeypatch.setattr(script, "measured", lambda *_, **__: figures)
    assert script.main(["--device", "cpu", "--small", "--figures", str(tmp_path / "a" / "figures.json")]) == status
    assert json.loads((tmp_path / "a" / "figures.json").read_text())["checks"] == [check]


def test_every_part_has_a_program() -> None:
    assert set(script.PARTS) == {*part.SUBJECTS, "server", "run"} == set(NEEDED)


@pytest.mark.parametrize(
    ("value", "least", "most", "met"),
    [(0.99, 0.99, None, True), (0.98, 0.99, None, False), (1.0, None, 1.0, True), (1.1, None, 1.0, False),
     (math.nan, 0.9, None, False), (math.nan, None, 1.0, False), (math.inf, None, 1.0, False), (0.0, None, None, True)],
)  # fmt: skip
def test_tolerances(value: float, least: float | None, most: float | None, met: bool) -> None:
    assert Check("m", "w", value, least, most).met is met


def test_notes_survive_a_process_that_is_killed_while_it_writes(tmp_path: Path) -> None:
    notes, path = (
        [Check("m", "w", 1.0, 0.9), Rate("m", "cpu", 8, 16, 2.5), Load("m", "cpu", 1, 0.5)],
        tmp_path / "notes",
    )
    more = [Memory(8, 32, 900.0, 3.0), Run(12, 12, 0, True, 30.0)]
    for note in [*notes, *more]:
        Notes(path).add(note)
    with path.open("a") as stream:
        stream.write('{"kind": "rates", "mod')
    assert read(path) == [*notes, *more] and read(tmp_path / "none") == []


def hit(x: float, score: float = 0.9, label: str = "circle") -> Hit:
    return Hit(Box(x, 0.0, x + 10, 10.0), score, label, 0)


@pytest.mark.parametrize(
    ("ours", "theirs", "apart"),
    [
        ([], [], (0, 0)),
        ([hit(0), hit(50)], [hit(50.5, 0.88), hit(0)], (0.5, 0.02)),
        ([hit(0)], [hit(0), hit(50)], (math.inf, math.inf)),
        ([hit(0), hit(50)], [hit(0)], (math.inf, math.inf)),
        ([hit(0)], [hit(0, label="square")], (math.inf, math.inf)),
    ],
)
def test_how_far_boxes_are_apart(ours: list[Hit], theirs: list[Hit], apart: tuple[float, float]) -> None:
    assert farthest([ours], [theirs]) == pytest.approx(apart)


def test_boxes_are_found_again_in_any_order() -> None:
    torch = pytest.importorskip("torch")
    from benchmarks.gpu.observing import found_again

    boxes = torch.tensor([[[0.0, 0, 10, 10], [50, 50, 60, 60], [70, 70, 80, 80], [90, 90, 99, 99]]])
    scores = torch.tensor([[0.9, 0.8, 0.7, 0.6]])
    others = torch.tensor([[[90.5, 90, 99, 99], [0.0, 0, 10, 10], [50, 50, 62, 60], [70, 70, 80, 80]]])
    other_scores = torch.tensor([[0.6, 0.9, 0.8, 0.5]])
    assert found_again((boxes, scores), (others, other_scores), 1.0, 0.01) == 0.5


def test_a_slow_call_is_counted_once_for_each_caller() -> None:
    calls: list[int] = []

    def call(number: int) -> None:
        calls.append(number)
        time.sleep(0.05)

    found = rate(call, 4, seconds=0.0)
    assert len(calls) == 8 and 4 < found < 80  # four to warm up, four that count


# -- its table

MACHINE = {
    "date": "2026-01-31", "device": "cuda:0", "card": "NVIDIA H100", "cores": 16, "small": False,
    "versions": {"Python": "3.12.3", "torch": "2.11.0"},
}  # fmt: skip
RATES = [("cpu", 1, 1, 2.0), ("cuda:0", 1, 1, 20.0), ("cuda:0", 1, 16, 20.0), ("cuda:0", 32, 1, 25.0), ("cuda:0", 32, 16, 100.0)]  # noqa: E501  # fmt: skip


def figures(**about: Any) -> dict[str, Any]:
    return {
        "machine": {**MACHINE, **about},
        "parts": [{"part": "ocr", "outcome": "not there: no CUDA", "seconds": 1.0}],
        "checks": [{"model": "m", "what": "boxes", "value": 0.25, "least": None, "most": 1.0, "met": True}],
        "rates": [
            {"model": "m", "device": device, "callers": callers, "batch": batch, "rate": rate}
            for device, callers, batch, rate in RATES
        ],
        "loads": [{"model": "m", "device": device, "batch": 1, "seconds": seconds} for device, seconds in (("cpu", 9.0), ("cuda:0", 1.5))],  # noqa: E501
        "memory": [
            {"processes": 1, "callers": 1, "mb": 1000.0, "rate": 10.0},
            {"processes": 8, "callers": 32, "mb": 1100.0, "rate": 40.0},
        ],
        "runs": [{"cases": 12, "passed": 11, "status": 0, "names_device": True, "seconds": 20.0}],
    }  # fmt: skip


def test_the_table_shows_ratios_and_what_was_left_out() -> None:
    shown = table(figures())
    for line in (
        "Measured on 2026-01-31 on NVIDIA H100, beside 16 processor cores; Python 3.12.3, torch 2.11.0.",
        "| model | GPU / processor, 1 caller | together / one by one, 1 caller | together / one by one, 32 callers | load, s |",  # noqa: E501
        "| m | 10.0 × | 1.00 × | 4.00 × | 1.50 |",
        "| m: boxes | 0.25 | ≤ 1 | met |",
        "| 32 | 8 | 1,100 | 1.10 × | 4.00 × |",
        "- Not measured: ocr: not there: no CUDA",
    ):
        assert line in shown.splitlines()
    assert "11 of 12 cases passed, exit status 0" in shown


def test_the_page_has_a_place_for_it(tmp_path: Path) -> None:
    page = tmp_path / "tools.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    write(figures(), page)
    text = page.read_text(encoding="utf-8")
    assert text.count(MARK) == 1 and "| m | 10.0 × | 1.00 × | 4.00 × | 1.50 |" in text.partition(MARK)[2]
    with pytest.raises(SystemExit, match="of a dry run on processor"):
        write(figures(device="cpu", card="processor"), page)
