"""Figures over groups, such as WildToolBench's Session, count whole groups alone, wherever they are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.comparison import compare, comparison
from agentgauge_reports.merge import merge
from agentgauge_reports.results import read_run

from bench_wild.data import load_sessions
from tests.model.fault_server import FaultServer, answer, silence, status
from tests.plugin.project import ROOT, run_wild, summary

WHY = "Session has no value: none of the 13 sessions that ran is whole"
FEW = "wild_tool_bench_0 or wild_tool_bench_1- or wild_tool_bench_2"
"""Three sessions, as a word of ``-k``."""


def wild(run: Path) -> dict[str, Any]:
    return summary(run)["tasks"]["wild"]


def session(run: Path) -> tuple[float | None, int]:
    figure = wild(run)["metrics"]["Session"]
    assert ("why" in figure) == (figure["value"] is None)
    return figure["value"], figure["n"]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the run ``part``, of which no session is whole, and ``all``."""
    there = tmp_path_factory.mktemp("groups")
    printed = run_wild("--model=oracle", "-k", "clarify", "--run-dir=part", cwd=there).output
    (there / "printed.txt").write_text(printed)
    run_wild("--model=oracle", "--run-dir=all", cwd=there)
    return there


def test_without_a_whole_session_there_is_no_value_and_every_report_says_why(folder: Path) -> None:
    run = folder / "part"
    figure = wild(run)["metrics"]["Session"]
    assert (figure["value"], figure["low"], figure["high"], figure["n"]) == (None, None, None, 0)
    assert figure["why"].startswith(WHY)
    groups = wild(run)["groups"]
    assert (groups["name"], groups["figures"], groups["whole"], len(groups["incomplete"])) == (
        "session", ["Session"], 0, 13,
    )  # fmt: skip
    assert WHY in flat((folder / "printed.txt").read_text())
    assert WHY in (run / "leaderboard.md").read_text()
    page = (run / "report.html").read_text()
    assert page.count(WHY) >= 2  # at the headline, and among the notes
    assert read_run(run).metrics["wild.Session"].value is None


def test_a_gate_on_it_fails_and_says_why(tmp_path: Path) -> None:
    words = ("--model=oracle", "-k", "clarify", "--gate=wild.Session>=0", "--run-dir=run")
    assert f"gate wild.Session>=0: {WHY}" in flat(run_wild(*words, cwd=tmp_path, status=1).output)


def test_a_gate_that_compares_it_with_another_run_fails_and_says_why(tmp_path: Path, folder: Path) -> None:
    gate = f"--gate=wild.Session no significant regression against {folder / 'all'}"
    result = run_wild("--model=baseline", "-k", "clarify", gate, "--run-dir=run", cwd=tmp_path, status=1)
    assert "wild.Session has no value on the samples that both runs finished" in flat(result.output)


def test_all_sessions_of_a_whole_run_count(folder: Path) -> None:
    assert session(folder / "all") == (100, 16)
    assert wild(folder / "all")["groups"]["incomplete"] == []
    assert "is of" not in (folder / "all" / "leaderboard.md").read_text()


def test_whole_sessions_count_beside_others(tmp_path: Path) -> None:
    result = run_wild("--model=oracle", "-k", "wild_tool_bench_0 or clarify", "--run-dir=run", cwd=tmp_path)
    assert session(tmp_path / "run") == (100, 1)
    others = len(wild(tmp_path / "run")["groups"]["incomplete"])
    assert f"Session is of 1 of the {1 + others} sessions that ran: the other {others} are not whole" in flat(
        result.output
    )


@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_without_context_a_session_is_whole_without_its_first_task(tmp_path: Path, scoring: str) -> None:
    words = ("--model=oracle", "--wild-no-context", f"--scoring={scoring}")
    run_wild(*words, "--limit=6", "--run-dir=whole", cwd=tmp_path)
    run_wild(*words, "-k", "fourth", "--run-dir=part", cwd=tmp_path)
    assert (session(tmp_path / "whole")[1], session(tmp_path / "part")) == (2, (None, 0))


def test_missing_cases_make_a_session_incomplete_until_the_run_is_resumed(tmp_path: Path) -> None:
    first = []

    def choose(seen):
        first.append(seen)
        return answer("no") if len(first) == 1 else silence()

    with FaultServer(choose=choose) as server:
        words = ("--model=m", f"--model-url={server.url}", "--in-flight=1", "-k", FEW)
        run_wild(*words, "-x", "--run-dir=run", cwd=tmp_path, status=1)
        part = wild(tmp_path / "run")
        assert part["missing"] == part["planned"] - 1
        assert session(tmp_path / "run") == (None, 0)
        server.choose = lambda seen: answer("no")
        run_wild("--resume=run", f"--model-url={server.url}", cwd=tmp_path)
    assert (wild(tmp_path / "run")["missing"], session(tmp_path / "run")[1]) == (0, len(FEW.split(" or ")))


def test_broken_cases_count_as_the_original_counts_them_and_not_in_the_clean_figure(tmp_path: Path) -> None:
    text = load_sessions(ROOT / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl")[0].tasks[3].text

    def choose(seen):
        last = seen.body["messages"][-1]["content"]
        return status(400) if text in str(last) else answer("no")

    with FaultServer(choose=choose) as server:
        words = ("--model=m", f"--model-url={server.url}", "-k", FEW, "--run-dir=run")
        run_wild(*words, cwd=tmp_path, status=1)
    figure = wild(tmp_path / "run")["metrics"]["Session"]
    assert wild(tmp_path / "run")["broken"] == 1
    assert (figure["n"], figure["n_clean"]) == (3, 2)


def test_shards_of_a_session_are_whole_once_they_are_merged(tmp_path: Path) -> None:
    for name, words in (("one", "first or second"), ("two", "third or fourth")):
        run_wild("--model=oracle", "-k", f"({FEW}) and ({words})", f"--run-dir={name}", cwd=tmp_path)
        assert session(tmp_path / name) == (None, 0)
    merge([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert session(tmp_path / "both") == (100, 3)


def test_scoring_again_says_the_same(tmp_path: Path, folder: Path) -> None:
    run_wild(f"--rescore={folder / 'part'}", "--run-dir=again", cwd=tmp_path)
    assert wild(tmp_path / "again")["metrics"] == wild(folder / "part")["metrics"]
    run_wild(f"--rescore={folder / 'all'}", "-k", "clarify", "--run-dir=less", cwd=tmp_path)
    assert session(tmp_path / "less") == (None, 0)


def test_a_comparison_counts_sessions_that_are_whole_in_both_runs(tmp_path: Path, folder: Path) -> None:
    run_wild("--model=baseline", "-k", "wild_tool_bench_0 or clarify", "--run-dir=one", cwd=tmp_path)
    for other, whole, value in ((folder / "part", 0, None), (folder / "all", 1, 100)):
        part = compare([tmp_path / "one", other], tmp_path)["comparisons"][0]["tasks"]["wild"]
        assert (part["whole"], part["figures"]["Session"]["b"]) == (whole, value)
        assert part["figures"]["Task"]["b"] == 100
    told = comparison([tmp_path / "one", folder / "part"], "text", tmp_path)
    assert re.search(r"groups, of which none are whole", flat(told))


def test_attempts_of_a_session_are_put_together_and_a_part_of_it_has_none(tmp_path: Path) -> None:
    run_wild("--model=oracle", "--attempts=2", "--limit=2", "--run-dir=run", cwd=tmp_path)
    assert session(tmp_path / "run") == (None, 0)
    assert json.loads(json.dumps(wild(tmp_path / "run")["pass"]))["pass^k"]["2"]["n"] == 2
