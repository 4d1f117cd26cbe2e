"""What a case waited for is stored apart: slots, the endpoint, scoring."""

from __future__ import annotations

import json

import pytest

from agentgauge import read_run
from agentgauge.core.task_registry import known_tasks
from tests.plugin.conftest import slow
from tests.plugin.project import Project, records, summary
from tests.plugin.toy import Toy

WAIT = 0.3


def test_waiting_for_a_slot_is_no_working_time(tmp_path, endpoint, monkeypatch):
    """The first 8 requests are sent at once; the others wait for them here."""
    endpoint.choose = slow(WAIT)
    project = Project.make(tmp_path / "project", 16)
    result = project.run("--model", "m", "--model-url", endpoint.url, "--run-dir", "run", "-v")
    assert result.status == 0, result.output
    for record in records(project.path / "run"):
        transcript = record["transcript"]
        [event], times = transcript["events"], transcript["times"]
        assert WAIT <= times["endpoint"] == pytest.approx(event["seconds"], abs=0.1)
        assert times["slots"] + times["endpoint"] <= transcript["seconds"] + 1e-4
        assert times["tools"] == 0 <= times["scoring"]
    waited = [record["transcript"]["times"]["slots"] for record in records(project.path / "run")]
    assert sum(one >= WAIT / 2 for one in waited) == 8 and sum(one < WAIT / 2 for one in waited) == 8
    usage = summary(project.path / "run")["usage"]
    times = {kind: one["seconds"] for kind, one in usage["times"].items()}
    assert times["working"] == pytest.approx(usage["seconds"] - times["slots"], abs=0.01)
    assert times["slots"] == pytest.approx(sum(waited), abs=0.01)
    assert f"working time summed over cases: {times['working']:.1f} s; {times['slots']:.1f} s" in " ".join(
        result.output.split()
    )
    monkeypatch.setitem(known_tasks(), Toy.name, Toy())
    working = sum(sample.working_seconds for sample in read_run(project.path / "run").samples)
    assert working == pytest.approx(times["working"], abs=0.01)
    again = project.run("--rescore", "run", "--run-dir", "again")
    assert again.status == 0
    assert summary(project.path / "again")["usage"]["times"]["slots"]["seconds"] == times["slots"]


def test_records_of_earlier_versions_load_without_these_times(project, model):
    assert project.run(*model, "--run-dir", "run").status == 0
    file = project.path / "run" / "records.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["transcript"]["times"]
    file.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))
    assert project.run("--resume", "run", *model).status == 0
    usage = summary(project.path / "run")["usage"]
    assert "times" not in usage and usage["seconds"] > 0
    assert '"working": false' in (project.path / "run" / "report.html").read_text().replace('":', '": ')
