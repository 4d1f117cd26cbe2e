"""The page as a plugin: when it is written, and what the end of the run says of it."""

from __future__ import annotations

import pytest

from tests.plugin.project import Project

SEES = """
def pytest_agentgauge_report(run):
    run.notes.append(f"seen {(run.folder / 'report.html').is_file()} {run.pages}")
    run.pages.append("mine.html")
"""

IN_THE_WAY = """
def pytest_agentgauge_summary(run):
    (run.folder / "report.html").mkdir()
"""


def add(project: Project, hooks: str) -> None:
    with (project.path / "conftest.py").open("a") as file:
        file.write(hooks)


def test_hooks_of_others_find_the_page_and_add_their_own_to_the_last_lines(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    add(project, SEES)
    told = project.run("--model=oracle", "--run-dir=run")
    assert told.status == 0, told.output
    assert "seen True ['report.html']" in told.output
    assert "/run/report.html, mine.html, summary.json, leaderboard.md, records.jsonl" in told.output


@pytest.mark.uses("ci")
def test_a_page_that_cannot_be_written_is_a_problem_and_is_not_named(tmp_path):
    project, job = Project.make(tmp_path / "p", 1), tmp_path / "job.md"
    add(project, IN_THE_WAY)
    told = project.run("--model=oracle", "--run-dir=run", env={"GITHUB_STEP_SUMMARY": str(job)})
    assert told.status == 1, told.output
    assert "continue with --resume=" in told.output and "/run/summary.json, leaderboard.md" in told.output
    assert "continue with --resume=" in job.read_text()


def test_without_it_no_line_names_it(tmp_path):
    project = Project.make(tmp_path / "p", 1)
    told = project.run("--model=oracle", "--run-dir=run", "-p", "no:agentgauge-page")
    assert told.status == 0, told.output
    assert "report.html" not in told.output and "/run/summary.json, leaderboard.md" in told.output
