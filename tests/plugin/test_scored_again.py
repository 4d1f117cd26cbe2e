"""A fault in scoring costs no answer that is paid for: what was said is kept, and scored again without the model."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.model.fault_server import status
from tests.plugin.conftest import say, undisturbed
from tests.plugin.project import Project, records, summary, without_times

FAULTS = {
    "s0": "raise KeyError('no such field')",
    "s1": "raise Fault('the similarity server is gone', cause='similarity server')",
    "s3": "raise SandboxFault('no process could be started')",
    "s4": "raise DataProblem('the gold is damaged')",
}
"""What scoring a sample raises, in words of the toy's module: a defect, servers that are gone, data that is damaged."""
FULL = dict.fromkeys(("s1", "s3", "s4"), "raise OSError(28, 'No space left on device')")

BREAKING = """
import pathlib
from agentgauge.core.errors import DataProblem, Fault, SandboxFault
from agentgauge.core.task_registry import announce
from tests.plugin.toy import Toy

FAULTS = {faults!r}

class Breaking(Toy):
    def score(self, sample, output, scoring, similarity):
        if output and pathlib.Path("broken").exists():
            exec(FAULTS.get(sample.id, ""))
        return super().score(sample, output, scoring, similarity)

announce(Breaking())
pytest_plugins = ["agentgauge.pytest_plugin"]
"""


def breaking(project: Project, faults: Mapping[str, str]) -> None:
    (project.path / "conftest.py").write_text(BREAKING.format(faults=faults))
    (project.path / "broken").write_text("")


@pytest.mark.parametrize(
    ("faults", "workers"), [(FAULTS, ()), (FAULTS, ("-n", "2")), (FULL, ())], ids=["serial", "n2", "full disk"]
)
def test_answers_whose_scoring_failed_are_scored_again_without_the_model(project, model, endpoint, faults, workers):
    breaking(project, faults)
    result = project.run(*model, *workers, "--run-dir", "run")
    assert result.status == 1, result.output
    before = len(endpoint.requests)
    broken = [record for record in records(project.path / "run") if record["status"] == "broken"]
    # where the disk is full nothing more is begun, but what had been asked is kept
    assert {record["sample"] for record in broken} == set(faults) or faults == FULL
    assert all(record["transcript"]["output"]["answer"] for record in broken)
    kept = len(records(project.path / "run"))
    (project.path / "broken").unlink()
    again = project.run("--rescore", "run", "--run-dir", "again")
    resumed = project.run("--resume", "run", *model[2:], *workers)
    assert resumed.status == 0, resumed.output
    assert len(endpoint.requests) == before + 6 - kept
    assert without_times(summary(project.path / "run")) == undisturbed(6)
    if kept == 6:
        assert again.status == 0, again.output
        assert without_times(summary(project.path / "again")) == undisturbed(6)


def test_scoring_that_fails_again_asks_no_model_either(project, model, endpoint):
    breaking(project, {"s1": FAULTS["s0"]})
    assert project.run(*model, "--run-dir", "run").status == 1
    before = len(endpoint.requests)
    assert project.run("--resume", "run", *model[2:]).status == 1
    assert len(endpoint.requests) == before
    (record,) = [record for record in records(project.path / "run") if record["status"] == "broken"]
    assert record["transcript"]["output"] == {"answer": "word1"}


def test_a_case_that_the_model_broke_is_asked_again(project, model, endpoint):
    def refuses(request):
        return status(401) if "word4" in request.body["messages"][-1]["content"] else say(request)

    endpoint.choose = refuses
    assert project.run(*model, "--run-dir", "run").status == 1
    endpoint.choose = say
    again = project.run("--rescore", "run", "--run-dir", "again")
    assert again.status == 1 and summary(project.path / "again")["tasks"]["toy.say"]["broken"] == 1
    assert project.run("--resume", "run", *model[2:]).status == 0


def test_broken_cases_that_cannot_be_counted_as_the_original_does_end_no_run(project, model, endpoint):
    breaking(project, {"s1": FAULTS["s0"]})
    with (project.path / "conftest.py").open("a") as stream:
        stream.write(NO_SCORE)
    result = project.run(*model, "--run-dir", "run")
    assert result.status == 1, result.output
    assert "INTERNALERROR" not in result.output
    why = "counting them as the original does failed (ZeroDivisionError: of nothing)"
    said = f"toy.say: 1 broken case is in no figure: {why}"
    assert said in result.output.replace("\n      ", " ")
    assert said in (project.path / "run" / "leaderboard.md").read_text()
    part = json.loads((project.path / "run" / "summary.json").read_text())["tasks"]["toy.say"]
    assert part["uncounted"] == {"cases": 1, "why": "ZeroDivisionError: of nothing"}
    assert part["metrics"]["Acc"]["n"] == 5


NO_SCORE = """
whole = Breaking.score

def score(self, sample, output, scoring, similarity):
    if output is None and sample.id == "s1":
        raise ZeroDivisionError("of nothing")
    return whole(self, sample, output, scoring, similarity)

Breaking.score = score
"""
