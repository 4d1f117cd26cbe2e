"""Run folders that earlier versions wrote: today's code reads them, goes on with them and scores them again."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.leaderboard import not_comparable

from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer, answer
from tests.plugin.project import ROOT, Result, python, records, summary, without_times
from tests.run_folders.make import RUNS, command

HERE = Path(__file__).parent
EARLIER_TEXTS = HERE / "earlier_prompts"  # of the judges, before they had frames
BEFORE_NAMES = HERE / "2026-11-before-names"
GTA, OTHERS = RUNS
COUNTS = {
    GTA: {"passed": 3, "wrong": 3},
    OTHERS: {"passed": 4, "wrong": 2, "broken": 2, "missing": 2},
}
NEW_TABLES = (
    "Accuracy by number of messages",
    "Accuracy by sequence of action types",
    "Variance over layers",
)
UNFINISHED = {
    ("wild", "wild_tool_bench_8-t1"): "broken",
    ("mmau.math_standard", "math_numbers__div_remainder_1"): "broken",
    ("mmau.tool_single", "single-rail"): "missing",
    ("mmau.tool_single", "single-calendar"): "missing",
}


@pytest.fixture(params=[GTA, OTHERS])
def kind(request) -> str:
    return request.param


@pytest.fixture(params=sorted(path.name for path in HERE.iterdir() if (path / OTHERS).exists()))
def version(request) -> str:
    return request.param


@pytest.fixture
def folder(version, kind, tmp_path) -> Path:
    return shutil.copytree(HERE / version / kind, tmp_path / "earlier")


@pytest.fixture(scope="module")
def new_run(tmp_path_factory) -> Path:
    """Of the same cases, by a model that knows nothing."""
    project = tmp_path_factory.mktemp("project")
    with FaultServer([answer("I do not know.")]) as server:
        done = run(
            project,
            RUNS[OTHERS][0],
            "--model=m",
            f"--model-url={server.url}",
            f"--prompts={EARLIER_TEXTS}",
            "--run-dir=new",
        )
    assert done.status == 0, done.output
    return project / "new"


def run(project: Path, benchmarks: Sequence[str], *arguments: str) -> Result:
    """In a project like that of the folders' runs."""
    return python(*command(ROOT, project, benchmarks, *arguments), cwd=project)


def agentgauge(*arguments: object, cwd: Path) -> Result:
    return python("-m", "agentgauge.cli.main", *map(str, arguments), cwd=cwd)


def statuses(folder: Path) -> dict[tuple[str, str], str]:
    return {(record["task"], record["sample"]): record["status"] for record in records(folder)}


def figures(folder: Path) -> dict[str, Any]:
    """The summary without what another version says differently."""
    found = without_times(summary(folder))
    del found["run"]["agentgauge"]
    found["run"].pop("limit", None)  # is new
    for part in found["tasks"].values():
        del part["comparable"]  # said of the texts' similarity alone
        part.pop("usage", None)  # is new
        part.pop("groups", None)  # is new
        part["metrics"].pop("Session", None)  # counted incomplete sessions
        tables = [one for one in part.get("breakdowns", ()) if one["title"] not in NEW_TABLES]
        part["breakdowns"] = [{**one, "note": ""} for one in tables]
        for new in ("votes", "stored_votes", "unreadable"):
            part["metrics"].get("Root SR", {}).pop(new, None)
        for figure in part["metrics"].values():
            if figure.get("n_clean") == 0:  # had what the formula makes of no sample
                figure["value_clean"] = None
    for new in ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "usd_per_passed"):
        found["usage"].pop(new, None)
    for scores in found["capabilities"].values():
        for score in (one for named in scores.values() for one in named.values()):
            score.pop("without_figure", None)  # is new
    return found


def planned(folder: Path) -> list[list[Any]]:
    return json.loads((folder / "planned.json").read_text())


def test_the_folders_hold_every_status(folder, kind):
    found = {(task, sample): "missing" for task, sample, *_ in planned(folder)} | statuses(folder)
    assert Counter(found.values()) == COUNTS[kind]
    unfinished = {case: status for case, status in found.items() if status in ("broken", "missing")}
    assert unfinished == (UNFINISHED if kind == OTHERS else {})


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        (GTA, {"Inst": ("gta_atomic.step", "InstAcc"), "Ans": ("gta_atomic.e2e", "AnsAcc")}),
        (OTHERS, {"Single-Tool": ("wild", "Single-Tool")}),
    ],
)
def test_the_table_has_the_figures_of_the_summary(folder, columns, tmp_path):
    done = agentgauge("report", folder, "--table", "json", cwd=tmp_path)
    assert done.status == 0, done.output
    ours = [row["values"] for table in json.loads(done.output) for row in table["rows"] if row["this_run"]]
    row = next(row for row in ours if columns.keys() <= row.keys())
    tasks = summary(folder)["tasks"]
    assert {column: row[column] for column in columns} == {
        column: pytest.approx(tasks[task]["metrics"][metric]["value"], abs=1e-3)
        for column, (task, metric) in columns.items()
    }


@pytest.mark.uses("page")
def test_the_page_has_every_case(folder, tmp_path):
    done = agentgauge("report", folder, "--html", "page.html", "--embed", cwd=tmp_path)
    assert done.status == 0, done.output
    page = (tmp_path / "page.html").read_text()
    assert all(f'"{sample}"' in page for _, sample, *_ in planned(folder))


@pytest.mark.uses("allure")
def test_allure_has_every_case_with_its_status(folder, kind, tmp_path):
    done = agentgauge("report", folder, "--allure", "allure", cwd=tmp_path)
    assert done.status == 0, done.output
    results = [json.loads(path.read_text())["status"] for path in (tmp_path / "allure").glob("*-result.json")]
    words = {"passed": "passed", "wrong": "failed", "broken": "broken", "missing": "skipped"}
    assert Counter(results) == {words[status]: count for status, count in COUNTS[kind].items()}


@pytest.mark.parametrize("kind", [OTHERS])
def test_results_are_exported_in_the_form_of_the_benchmark(folder, tmp_path):
    done = agentgauge("report", folder, "--format", "wild", "--output", "official", cwd=tmp_path)
    assert done.status == 0, done.output
    (line,) = (tmp_path / "official/result/m/Wild-Tool-Bench_result.jsonl").read_text().splitlines()
    assert json.loads(line)["id"] == "wild_tool_bench_0"


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (GTA, ["InstAcc 66.67 66.67 +0.00", "Root Score 5.00 5.00 +0.00", "Tool calls 2 2 +0"]),
        (
            OTHERS,
            [
                "Single-Tool 100.00 100.00 +0.00",
                "wild: 1 common sample; left out: 1 broken in A, 1 broken in B",
                "mmau.tool_single: 0 common samples; left out: 2 missing in A, 2 missing in B",
            ],
        ),
    ],
)
def test_a_run_differs_nowhere_from_itself(folder, lines, tmp_path):
    done = agentgauge("compare", folder, folder, cwd=tmp_path)
    assert done.status == 0, done.output
    shown = [" ".join(line.split()) for line in done.output.splitlines()]
    assert [line for line in lines if not any(found.startswith(line) for found in shown)] == []
    assert "warning" not in done.output and "not in B" not in done.output


@pytest.mark.parametrize("kind", [OTHERS])
def test_a_new_run_is_compared(folder, new_run, tmp_path):
    done = agentgauge("compare", folder, new_run, cwd=tmp_path)
    assert done.status == 0, done.output
    assert "Single-Tool 100.00 0.00 -100.00" in [" ".join(line.split()) for line in done.output.splitlines()]
    assert "1 passed in A, not in B: wild_tool_bench_0-t1" in done.output
    assert "mmau.tool_single: 0 common samples; left out: 2 missing in A" in done.output
    warnings = [line for line in done.output.splitlines() if line.startswith("warning:")]
    assert [line for line in warnings if "agentgauge" not in line] == []  # the versions may differ


@pytest.mark.parametrize("kind", [OTHERS])
def test_only_broken_and_missing_cases_run_again(folder, kind, tmp_path):
    before = {(record["task"], record["sample"]): record for record in records(folder)}
    with FaultServer([answer("I do not know.")]) as server:
        done = run(
            tmp_path, RUNS[kind][1], f"--resume={folder}", f"--model-url={server.url}", f"--prompts={EARLIER_TEXTS}"
        )
    assert done.status == 0, done.output
    asked = [json.dumps(request.body["messages"], ensure_ascii=False) for request in server.requests]
    words = [word for text in asked for word in re.findall("PX-60017|44810|Zürich|Budget review", text)]
    assert sorted(words) == ["44810", "Budget review", "PX-60017", "Zürich"]
    assert len(asked) == len(UNFINISHED)
    after = {(record["task"], record["sample"]): record for record in records(folder)}
    assert {case: after.pop(case)["status"] for case in UNFINISHED} == dict.fromkeys(UNFINISHED, "wrong")
    assert after == {case: record for case, record in before.items() if case not in UNFINISHED}
    tasks = summary(folder)["tasks"].values()
    assert {status: sum(task[status] for task in tasks) for status in COUNTS[kind]} == {
        "passed": 4, "wrong": 6, "broken": 0, "missing": 0,
    }  # fmt: skip


def test_tools_of_another_version_refuse_a_resume(tmp_path):
    folder = shutil.copytree(BEFORE_NAMES / GTA, tmp_path / "run")
    with FaultServer([answer("I do not know.")]) as server:
        done = run(
            tmp_path, RUNS[GTA][1], f"--resume={folder}", f"--model-url={server.url}", f"--prompts={EARLIER_TEXTS}"
        )
    assert server.requests == []
    assert done.status == 4, done.output
    assert re.search("that run had another .*DocxFileGenerator", done.output)
    assert records(folder) == records(BEFORE_NAMES / GTA)


def test_the_figures_are_the_same_when_scored_again(folder, kind, tmp_path):
    done = run(tmp_path, RUNS[kind][1], f"--rescore={folder}", "--run-dir=again")
    assert done.status == (1 if kind == OTHERS else 0), done.output  # broken and missing cases stay what they are
    assert figures(tmp_path / "again") == figures(folder)
    assert statuses(tmp_path / "again") == statuses(folder)


@pytest.mark.parametrize(
    ("option", "reason"),
    [("--wild-evaluator", "evaluator 2026 instead of 2025"), ("--mmau-judge", "judge oracle"), ("--wild-language", "")],
)
def test_a_run_that_lacks_an_option_has_its_usual_value(option: str, reason: str) -> None:
    found = json.loads((HERE / "2026-11" / OTHERS / "summary.json").read_text())
    tasks = [Registry.installed()[name] for name in found["tasks"]]
    reasons = not_comparable(found, tasks)
    del found["run"]["options"][option]
    assert not_comparable(found, tasks) == reasons
    assert not reason or reason in reasons
