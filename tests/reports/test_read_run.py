"""A run read again in Python: plain objects, and frames."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from agentgauge_reports.results import RunMetrics

import agentgauge
from agentgauge.core.task import Task
from agentgauge.core.task_options import Chosen, TaskOption
from agentgauge.core.types import Event, Record
from tests.packages import absent
from tests.plugin.toy import TOY, toy
from tests.reports.runs import INSTALLED, TASKS, known, record, write_run

EARLIER = Path(__file__).parents[1] / "run_folders" / "2026-11"
ASKED = Event("model", "m", 1.0, 0.5, {"messages": [], "reply": "", "tool_calls": [{"name": "OCR", "arguments": "{}"}]})
USED = Event("tool", "OCR", 2.0, 0.25, {"arguments": {"image": "a"}, "result": [{"type": "text", "content": "=1+1"}]})
JUDGED = Event("model", "j", 3.0, 0.5, {"messages": [], "role": "--judge", "reply": "yes"}, "late")


@pytest.fixture(autouse=True)
def is_installed(installed: Callable[..., None]) -> None:
    installed(TOY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two samples, each tried twice, one broken, and one that was not attempted."""
    first = record(0, events=[ASKED, USED, JUDGED])
    cases = [first, replace(first, attempt=2), record(1, passed=False)]
    cases.append(replace(cases[2], attempt=2, status="broken", score=None, error="model m: HTTP 500", cause="http 500"))
    return write_run(tmp_path / "run", cases, missing=[("toy.say", "s9")])


def test_figures_have_keys_intervals_and_what_they_rest_on(folder: Path) -> None:
    metrics = agentgauge.read_run(folder).metrics
    figure = metrics["toy.say.Acc"]
    assert (figure.value, figure.n, figure.broken, figure.is_headline) == (50.0, 2, 0, True)
    low, high = figure.interval or (0, 0)
    assert low < 50 < high
    assert [one.key for one in metrics] == ["toy.say.Acc", *(f"toy.say.pass{sign}{k}" for sign in "@^" for k in (1, 2))]
    assert (metrics["toy.say.pass@2"].value, metrics["toy.say.pass^2"].n) == (100.0, 1)
    assert "toy.say.Acc" in metrics and "toy.say" not in metrics and len(metrics) == 5


def test_figures_without_broken_cases_stand_beside_the_others() -> None:
    figure = {"value": 40.0, "low": 10.0, "high": 70.0, "n": 5, "broken": 1}
    clean = {"value_clean": 50.0, "low_clean": 15.0, "high_clean": 85.0, "n_clean": 4}
    part = {"planned": 5, "missing": 0, "broken": 1, "metrics": {"Acc": figure | clean}}
    (one,) = RunMetrics({"run": {}, "tasks": {"toy.say": part}, "capabilities": {}}, TASKS)
    assert (one.value_clean, one.low_clean, one.high_clean, one.n_clean) == (50, 15, 85, 4)
    assert (one.is_count, one.is_comparable, one.warning) == (False, False, "")


def test_an_unknown_key_names_a_like_one(folder: Path) -> None:
    with pytest.raises(KeyError, match=r"no figure 'toy\.say\.Ac' \(did you mean toy\.say\.Acc"):
        agentgauge.read_run(folder).metrics["toy.say.Ac"]


def test_a_case_is_a_row_that_says_how_it_ended(folder: Path) -> None:
    run = agentgauge.read_run(folder)
    rows = {(row.sample, row.attempt): row for row in run.samples}
    assert [(name, row.status, row.passed) for name, row in rows.items()] == [
        (("s0", 1), "passed", True),
        (("s0", 2), "passed", True),
        (("s1", 1), "wrong", False),
        (("s1", 2), "broken", None),
        (("s9", 1), "missing", None),
    ]
    assert (rows["s1", 1].labels, rows["s1", 1].kind, rows["s1", 1].values["all"]) == (
        ("wrong_answer",),
        "wrong_answer",
        1,
    )
    assert (rows["s1", 2].error, rows["s1", 2].kind) == ("model m: HTTP 500", "endpoint")


def test_cases_have_a_length_and_places(folder: Path) -> None:
    samples = agentgauge.read_run(folder).samples
    assert len(samples) == 5 and [samples[0], samples[-1]] == [*samples][::4]
    with pytest.raises(IndexError):
        samples[5]


def test_a_record_is_read_when_it_is_asked_for(folder: Path) -> None:
    run = agentgauge.read_run(folder)
    rows = list(run.samples)
    assert run.record(rows[2]).score.explanation == "expected 'a', got 'b'"
    with pytest.raises(agentgauge.UsageProblem, match="which was not attempted"):
        run.record(rows[4])


def test_calls_are_numbered_within_their_case(folder: Path) -> None:
    calls = [call for call in agentgauge.read_run(folder).calls if call.attempt == 1]
    assert [(call.number, call.is_tool, call.name, call.role) for call in calls] == [
        (1, False, "m", ""),
        (2, True, "OCR", ""),
        (3, False, "j", "judge"),
    ]
    assert [call.output for call in calls] == ["", "=1+1", "yes"]
    assert json.loads(calls[0].tool_calls or "") == [{"name": "OCR", "arguments": "{}"}]
    assert (json.loads(calls[1].arguments or ""), calls[2].error) == ({"image": "a"}, "late")


def test_pandas(folder: Path) -> None:
    run = agentgauge.read_run(folder)
    samples = run.samples.to_pandas()
    assert samples.groupby("task").passed.mean().to_dict() == {"toy.say": pytest.approx(2 / 3)}  # of those that ended
    assert samples.labels.iloc[2] == ["wrong_answer"] and json.loads(samples["values"].iloc[0])["right"] == 1
    assert list(run.calls.to_pandas().query("is_tool").name) == ["OCR", "OCR"]
    metrics = run.metrics.to_pandas().set_index("key")
    assert metrics.loc["toy.say.Acc", ["value", "n"]].to_list() == [50, 2]


def test_polars(folder: Path) -> None:
    polars = pytest.importorskip("polars")
    run = agentgauge.read_run(folder)
    samples = run.samples.to_polars()
    assert samples["passed"].to_list() == [True, True, False, None, None]
    assert samples.schema["labels"] == polars.List(polars.String)
    assert run.calls.to_polars().shape == (6, 14)
    assert run.metrics.to_polars().filter(polars.col("is_headline"))["value"].to_list() == [50]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    absent(monkeypatch, package)
    with pytest.raises(agentgauge.UsageProblem, match=rf"{package} is not installed.*agentgauge\[frames\]"):
        getattr(agentgauge.read_run(folder).samples, f"to_{package}")()


def test_a_run_without_cases_gives_empty_frames(tmp_path: Path) -> None:
    run = agentgauge.read_run(write_run(tmp_path / "run", []))
    for table in (run.samples, run.calls, run.metrics):
        assert table.to_pandas().shape == table.to_polars().shape == (0, len(fields(table.kind)))


def test_what_is_no_finished_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(agentgauge.UsageProblem, match="is not a run folder"):
        agentgauge.read_run(tmp_path)


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    long = Event("model", "m", 1.0, 0.5, {"messages": [], "reply": "x" * 9000})
    folder = write_run(tmp_path / "run", [record(0, events=[long])])
    file = folder / "records.jsonl"
    file.write_text(file.read_text().replace('"zstd":"', '"zstd":"AAAA'))
    with pytest.raises(agentgauge.UsageProblem, match=r"the record of toy\.say s0, attempt 1, cannot be read"):
        list(agentgauge.read_run(folder).calls)


def test_transcripts_are_not_kept(tmp_path: Path) -> None:
    """400 transcripts of 100 KB: less than a twentieth of them is in memory at any time."""

    def cases() -> Iterator[Record]:
        for number in range(400):
            text = f"{number:08}" * 12_500
            yield record(number, events=[Event("model", "m", 1.0, 0.5, {"messages": [], "reply": text})])

    folder = write_run(tmp_path / "run", cases())
    tracemalloc.start()
    run = agentgauge.read_run(folder)
    seen = sum(len(call.output) for call in run.calls)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == 40_000_000 and most < 2_000_000


def test_bundled_runs_are_read() -> None:
    run = agentgauge.read_run(EARLIER / "wild-mmau")
    assert run.metrics["wild.Task"].benchmark == "WildToolBench"
    assert run.metrics["Apple MMAU.domains.tool_use"].task == ""
    assert {call.task for call in run.calls} == {row.task for row in run.samples if row.status != "missing"}


def test_compare_gives_differences_with_intervals(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, [record(number, passed=number < right) for number in range(8)])
        for name, right in (("a", 2), ("b", 8))
    ]
    found = agentgauge.compare(agentgauge.read_run(runs[0]), runs[1])
    row, passed = found
    assert passed.key == "toy.say.Passed"
    assert (row.key, row.a, row.b, row.difference, row.n, row.differing) == ("toy.say.Acc", 25, 100, 75, 8, 6)
    assert not row.is_count and row.low is not None and row.low < 75 and row.significant
    assert found.to_pandas()["difference"].to_list() == [75, 75] == found.to_polars()["difference"].to_list()
    assert (found.warnings, len(found), found[1]) == ([], 2, passed)
    with pytest.raises(agentgauge.UsageProblem, match="takes 2 to 26"):
        agentgauge.compare(runs[0])


def test_a_warning_names_its_run(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [record(0)]) for name in "abc"]
    file = runs[2] / "summary.json"
    summary = json.loads(file.read_text())
    summary["run"]["dialect"] = "react"
    file.write_text(json.dumps(summary))
    (warning,) = agentgauge.compare(*runs).warnings
    assert warning.startswith(f"{runs[2]}: ") and "react" in warning


def test_tasks_that_are_not_installed_are_handed_in(folder: Path) -> None:
    with pytest.raises(agentgauge.UsageProblem, match=r'has the task "toy\.say", which no installed package announces'):
        agentgauge.read_run(folder, INSTALLED)
    other = known(toy(shown={"benchmark": "Other"}))
    assert agentgauge.read_run(folder, other).metrics["toy.say.Acc"].benchmark == "Other"
    assert agentgauge.compare(agentgauge.read_run(folder, other), folder)[0].task == "toy.say"
    alone = [toy(shown={"benchmark": "Other"})]
    assert agentgauge.read_run(folder, tasks=alone).metrics["toy.say.Acc"].benchmark == "Other"
    assert agentgauge.compare(folder, folder, tasks=alone)[0].task == "toy.say"


def test_a_run_has_its_tasks_with_its_options(folder: Path) -> None:
    about = json.loads((folder / "run.json").read_text())
    for language in ("zh", "en"):
        about["settings"]["options"]["--said-in"] = language
        (folder / "run.json").write_text(json.dumps(about))
        assert agentgauge.read_run(folder, known(said_in())).metrics["toy.say.Acc"].benchmark == f"Toy in {language}"
    about["settings"]["options"]["--said-in"] = "xx"
    (folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(agentgauge.UsageProblem, match="--said-in 'xx' is unknown; accepted are en, zh"):
        agentgauge.read_run(folder, known(said_in()))


def said_in(chosen: Chosen = MappingProxyType({"--said-in": "en"})) -> Task:
    option = TaskOption("--said-in", "the language", accepted=("en", "zh"))
    shown = {"benchmark": f"Toy in {chosen['--said-in']}"}
    task: Task = toy(shown=shown, options=(option,), configured=said_in)
    return task
