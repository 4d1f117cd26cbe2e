"""What a run tells the page of a CI job."""

from __future__ import annotations

from html import escape

import pytest
from agentgauge_reports.ci.job_summary import job_summary
from markdown_it import MarkdownIt

from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer
from tests.plugin.conftest import one_of_each
from tests.plugin.project import Project
from tests.plugin.toy import TOY


@pytest.fixture
def endpoint():
    with FaultServer(choose=one_of_each) as server:
        yield server


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_job_has_a_summary_and_annotations_for_faults_alone(tmp_path, endpoint, workers):
    project = Project.make(tmp_path / "project")
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_ACTIONS": "true"}
    (tmp_path / "summary.md").write_text("# before\n")
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", *workers, env=env)
    assert result.status == 1, result.output
    annotations = [line for line in result.output.splitlines() if line.startswith("::")]
    assert annotations == ["::error title=AgentGauge::1 case is broken"]
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("# before\n## m\n")
    assert "| toy.say | 6 | 4 | 1 | Acc | 66.67 |" in summary
    assert "- 1 case is broken\n" in summary


def test_a_run_elsewhere_writes_neither(tmp_path, endpoint):
    project = Project.make(tmp_path / "project", samples=2)
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run")
    assert "::error" not in result.output


def test_a_summary_that_cannot_be_written_is_noted(tmp_path, endpoint):
    project = Project.make(tmp_path / "project", samples=1)
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path)}
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", env=env)
    assert result.status == 0 and "cannot be written (Is a directory); the job has no summary" in result.output


def test_texts_of_a_summary_are_no_markup(tmp_path, endpoint):
    project = Project.make(tmp_path / "project", samples=1)
    name = "a|<img src=x> ![x](http://x/y.png) @team `b`"
    result = project.run("--model", name, "--model-url", endpoint.url, "--run-dir", "run")
    assert result.status == 0, result.output
    gates = [{"text": "`<b>`", "problem": None}]
    text = job_summary(result.summary("run") | {"tasks": {}, "capabilities": {}}, Registry([TOY]), gates)
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<img" not in shown and "<b>" not in shown and "<code>" not in shown and "<a " not in shown
    assert f"<h2>{escape(name, quote=False)}</h2>" in shown


@pytest.mark.uses("gates")
def test_a_job_is_told_of_gates(tmp_path, endpoint):
    project = Project.make(tmp_path / "project")
    env = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_ACTIONS": "true"}
    gates = ("--gate", "toy.say.Acc>=60", "--gate", "toy.say.Acc>=90")
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", *gates, env=env)
    assert "::error title=AgentGauge::gate toy.say.Acc>=90: Acc is 66.67" in result.output.splitlines()
    summary = (tmp_path / "summary.md").read_text()
    assert "- gate toy.say.Acc\\>=90: fails" in summary and "- gate toy.say.Acc\\>=60: holds" in summary
