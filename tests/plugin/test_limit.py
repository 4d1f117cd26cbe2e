"""``--limit`` on the command line: after the other selections, for whole sessions, and every row says so."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from agentgauge_reports.comparison import comparison
from agentgauge_reports.results import read_run
from agentgauge_reports.tables import rows

from agentgauge.core.registry import Registry
from agentgauge.store import RunFolder
from tests.plugin.project import Result, records, run_wild, summary

SESSION = "Session has no value: the session that ran is not whole"


def planned(run: Path) -> list[str]:
    return [sample for _, sample, _ in RunFolder(run).plan()]


def collected(result: Result) -> list[str]:
    lines = [line for line in result.output.splitlines() if "::" in line and line.endswith("]")]
    return [line.rpartition("[")[2][:-1] for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the run ``sixteen``."""
    there = tmp_path_factory.mktemp("limit")
    run_wild("--model=oracle", "--limit=16", "--run-dir=sixteen", cwd=there)
    return there


def test_whole_sessions_run_and_not_first_turns_alone(folder: Path) -> None:
    chosen = planned(folder / "sixteen")
    assert Counter(sample.rpartition("-t")[2] for sample in chosen) == dict.fromkeys("1234", 4)
    assert summary(folder / "sixteen")["tasks"]["wild"]["metrics"]["Session"]["n"] == 4


def test_a_smaller_part_is_in_each_larger_one(tmp_path: Path, folder: Path) -> None:
    found: list[set[str]] = []
    for limit in (4, 11, 32):
        found.append(set(collected(run_wild("--collect-only", "-q", f"--limit={limit}", cwd=tmp_path))))
    assert [len(part) for part in found] == [4, 8, 32]
    assert found[0] < found[1] < set(planned(folder / "sixteen")) < found[2]


def test_every_worker_chooses_the_same(tmp_path: Path, folder: Path) -> None:
    run_wild("--model=oracle", "--limit=16", "-n", "2", "--run-dir=two", cwd=tmp_path)
    assert planned(tmp_path / "two") == planned(folder / "sixteen")


def test_fewer_than_a_session_are_the_first_of_one_and_say_so(tmp_path: Path) -> None:
    result = run_wild("--model=oracle", "--limit=2", "--run-dir=run", cwd=tmp_path)
    one, other = planned(tmp_path / "run")
    assert one.endswith("-t1") and other == one[:-1] + "2"
    session = summary(tmp_path / "run")["tasks"]["wild"]["metrics"]["Session"]
    assert (session["value"], session["low"], session["n"]) == (None, None, 0)
    assert session["why"].startswith(SESSION)
    assert SESSION in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("selection", "count", "word"),
    [(("-k", "clarify"), 5, "clarify"), (("-m", "chat"), 6, "chat"), (("-k", "third and not single"), 4, "third")],
)
def test_the_limit_applies_after_the_other_selections(tmp_path: Path, selection, count, word) -> None:
    run_wild("--model=oracle", *selection, f"--limit={count}", "--run-dir=run", cwd=tmp_path)
    ran = records(tmp_path / "run")
    assert count - 1 <= len(ran) <= count  # two cases of one session stay together
    assert all(word in record["tags"] for record in ran)


def test_the_limit_counts_samples_and_not_attempts(project, model) -> None:
    result = project.run(*model, "--limit=2", "--attempts=3", "--run-dir=run")
    assert result.status == 0, result.output
    assert Counter(planned(project.path / "run")) == {"s2": 3, "s5": 3}


def test_a_named_case_is_chosen_whatever_the_limit_would_choose(project, model) -> None:
    assert project.run(*model, "--limit=1", "test_toy.py::test_say[s4]", "--run-dir=run").status == 0
    assert planned(project.path / "run") == ["s4"]


def test_a_resumed_run_keeps_its_plan_and_its_limit(project, model, endpoint) -> None:
    project.run(*model, "--limit=2", "--run-dir=run")
    before = (project.path / "run" / "summary.json").read_text()
    (project.path / "run" / "records.jsonl").unlink()
    project.run("--resume=run", *model)
    assert planned(project.path / "run") == ["s2", "s5"]
    assert [record["sample"] for record in records(project.path / "run")] == ["s2", "s5"]
    after, earlier = summary(project.path / "run"), json.loads(before)
    assert after["run"]["limit"] == earlier["run"]["limit"] == 2
    result = project.run("--rescore=run", "--run-dir=again")
    assert "toy.say (--limit=2): 2 planned" in result.output
    project.run("--rescore=again", "--limit=1", "--run-dir=third")
    assert (planned(project.path / "third"), summary(project.path / "third")["run"]["limit"]) == (["s2"], 1)


def test_what_failed_last_of_a_limited_run_runs_again(project, model) -> None:
    cached = ("-p", "cacheprovider", *model)
    project.run(*cached, "--limit=5", "-k", "not s4", "--run-dir=one")
    again = project.run(*cached, "--limit=5", "-k", "not s4", "--lf", "--run-dir=two")
    assert planned(project.path / "two") == ["s3"], again.output


@pytest.mark.uses("page")
def test_every_row_of_a_limited_run_says_so(folder: Path) -> None:
    run = folder / "sixteen"
    board = (run / "leaderboard.md").read_text()
    ours = [line for line in board.splitlines() if line.startswith("| **oracle")]
    assert ours and all(line.startswith("| **oracle (this run, --limit=16)**") for line in ours)
    assert all(
        "--limit=16" in line for line in rows(run, "md", tasks=Registry.installed()).splitlines() if "this run" in line
    )
    listed = list(csv.reader(io.StringIO(rows(run, "csv", tasks=Registry.installed()))))
    assert {row[5] for row in listed if len(row) > 5 and row[4] == "1"} == {"oracle (--limit=16)"}
    tables = json.loads(rows(run, "json", tasks=Registry.installed()))
    assert all(row["limit"] == "--limit=16" for table in tables for row in table["rows"] if row["this_run"])
    page = (run / "report.html").read_text()
    assert '"limit":"--limit=16"' in page.replace('": "', '":"')
    assert {one.limit for one in read_run(run).metrics} == {"--limit=16"}


def test_a_comparison_names_the_limit(tmp_path: Path, folder: Path) -> None:
    run_wild("--model=baseline", "--run-dir=all", cwd=tmp_path)
    runs = [folder / "sixteen", tmp_path / "all"]
    for form in ("text", "markdown", "html"):
        found = comparison(runs, form, tmp_path, Registry.installed()).replace("\\", "")
        assert "oracle, --limit=16" in found and "baseline, --limit" not in found
    assert json.loads(comparison(runs, "json", tmp_path, Registry.installed()))["runs"][0]["limit"] == "--limit=16"


@pytest.mark.uses("gates")
def test_gates_on_a_limited_run_warn(tmp_path: Path) -> None:
    gates = ("--gate=wild.Task>=50", "--gate=wild.Session>=50")
    warned = run_wild("--model=oracle", "--limit=8", *gates, "--run-dir=part", cwd=tmp_path)
    assert "warning: the gates judge a part of the samples (--limit=8)" in warned.output
    assert "warning: the gates" not in run_wild("--model=oracle", "--limit=8", "--run-dir=none", cwd=tmp_path).output
