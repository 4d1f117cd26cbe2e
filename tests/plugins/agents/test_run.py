"""``--agent`` as a user runs it: the agent of the examples in the model's place."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.model.fault_server import FaultServer
from tests.plugin.conftest import after_the_stop
from tests.plugin.project import ROOT, records, run_gta, run_mmau, run_wild, summary

pytestmark = pytest.mark.slow  # each runs pytest, most of them with the tool server

MINIMAL = f"--agent={sys.executable} {ROOT / 'examples' / 'agents' / 'minimal_agent.py'}"


def agent(folder: Path, code: str) -> str:
    """The option for an agent with this code."""
    (folder / "own_agent.py").write_text(code)
    return f"--agent={sys.executable} {folder / 'own_agent.py'}"


def test_the_first_agent_solves_what_its_model_solves(tmp_path: Path) -> None:
    result = run_gta(MINIMAL, "--model=oracle", "-k", "test_end_to_end", "--limit=3", "--run-dir=run", cwd=tmp_path)
    assert "agent minimal_agent in the model's place" in result.output
    assert "3 planned · 3 passed" in result.output
    about = summary(tmp_path / "run")["run"]
    assert about["model"] == "minimal_agent (oracle)"
    assert (about["agent_name"], about["asked_model"]) == ("minimal_agent", "oracle")
    for record in records(tmp_path / "run"):
        events = record["transcript"]["events"]
        assert [event["kind"] for event in events][:3] == ["model", "tool", "model"]
        assert record["transcript"]["usage"]["requests"] == sum(event["kind"] == "model" for event in events)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["agent"]["digest"] == about["agent"]
    assert not list((tmp_path / "run").rglob("*.agent"))  # its folders are gone


def test_a_workflow_is_judged_by_what_the_agent_delivers(tmp_path: Path) -> None:
    code = """
import os
from pathlib import Path
Path(os.environ["AGENTGAUGE_FILES"], "report.md").write_text("of the agent")
print("I wrote report.md")
"""
    few = ("-k", "test_workflow", "--limit=1", "--run-dir=run")
    run_gta(agent(tmp_path, code), *few, cwd=tmp_path)
    (record,) = records(tmp_path / "run")
    output = record["transcript"]["output"]
    assert [Path(path).name for path in output["delivered"]] == ["report.md"]
    assert output["prediction"][0][-1] == {"role": "assistant", "content": "I wrote report.md"}
    assert "an agent program in the model's place" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_tools_read_no_gold_for_an_agent(tmp_path: Path) -> None:
    """A tool may read more of the data set than the sample's files: not for an agent."""
    code = """
import json, os, urllib.error, urllib.request
task = json.load(open(os.environ["AGENTGAUGE_TASK"]))
def use(path):
    body = json.dumps({"image": path}).encode()
    headers = {"Authorization": "Bearer " + os.environ["AGENTGAUGE_MODEL_KEY"]}
    try:
        with urllib.request.urlopen(urllib.request.Request(os.environ["AGENTGAUGE_TOOLS_URL"] + "/OCR", body, headers)):
            return 200
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)["error"]["message"]
picture, = task["files"]
folder = os.path.dirname(picture)
others = [os.path.join(folder, "beach_sign.jpg"), os.path.dirname(folder) + "/dataset.json"]
print(json.dumps([use(path) for path in (picture, *others)]))
"""
    run_gta(agent(tmp_path, code), "-k", "test_end_to_end and OCR", "--limit=1", "--run-dir=run", cwd=tmp_path)
    (record,) = records(tmp_path / "run")
    said = json.loads(record["transcript"]["output"]["prediction"][0][-1]["content"])
    assert said[0] == 200 and [status for status, _ in said[1:]] == [422, 422]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.uses("progress")
def test_tasks_of_one_request(workers: tuple[str, ...], tmp_path: Path) -> None:
    few = ("-k", "tool_parallel or dag_planning or contest_parsing or math_comprehend", "--limit=2")
    result = run_mmau(MINIMAL, "--model=oracle", *few, "--run-dir=run", *workers, cwd=tmp_path)
    assert "8/8 · passed 8" in result.output, result.output


def test_a_dialogue_is_put_step_by_step(tmp_path: Path) -> None:
    result = run_wild(MINIMAL, "--model=oracle", "--limit=8", "--run-dir=run", cwd=tmp_path)
    assert "8 planned · 8 passed" in result.output


def test_other_tasks_are_refused_in_one_sentence(tmp_path: Path) -> None:
    result = run_gta(MINIMAL, "-k", "test_step_by_step", "--limit=1", cwd=tmp_path, status=4)
    assert "--agent: gta_atomic.step cannot be run with an agent program; select tasks that can" in result.output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--agent=no-such-agent x",), "--agent: there is no program 'no-such-agent'"),
        (("--agent=",), "--agent is empty"),
        ((MINIMAL, "--dialect=react"), "--dialect react and --agent cannot be used together"),
    ],
)
def test_what_is_refused_before_the_run(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    assert says in run_gta(*options, "--limit=1", cwd=tmp_path, status=4).output


CRASHES = "import sys\nprint('an answer?')\nsys.exit('no module named langchain')"
SILENT = "pass"


@pytest.mark.parametrize(
    ("code", "status", "says"),
    [
        (CRASHES, "broken", "the agent gave no answer: it ended with exit status 1: no module named langchain"),
        (SILENT, "wrong", None),
    ],
)
def test_an_agent_without_an_answer(code: str, status: str, says: str | None, tmp_path: Path) -> None:
    run_gta(agent(tmp_path, code), "-k", "test_end_to_end", "--limit=1", "--run-dir=run", cwd=tmp_path,
            status=int(status == "broken"))  # fmt: skip
    (record,) = records(tmp_path / "run")
    assert (record["status"], record["error"]) == (status, says)


@pytest.mark.uses("recording")
def test_a_recorded_run_is_replayed_without_a_model(tmp_path: Path) -> None:
    few = ("-k", "test_end_to_end", "--limit=2")
    run_gta(MINIMAL, "--model=oracle", *few, "--record=c.jsonl", "--run-dir=one", cwd=tmp_path)
    result = run_gta("--replay=c.jsonl", *few, "--run-dir=two", cwd=tmp_path)
    assert "agent minimal_agent in the model's place" in result.output
    assert summary(tmp_path / "one")["tasks"] == summary(tmp_path / "two")["tasks"]


def test_another_agent_cannot_go_on_with_a_run(tmp_path: Path) -> None:
    few = ("-k", "test_end_to_end", "--limit=1")
    run_gta(agent(tmp_path, SILENT), *few, "--run-dir=run", cwd=tmp_path)
    other = run_gta(agent(tmp_path, "print(1)"), *few, "--resume=run", cwd=tmp_path, status=4)
    assert "that run has agent" in other.output
    scored = run_gta("--rescore=run", *few, "--run-dir=again", cwd=tmp_path)
    assert "own_agent" in scored.output  # the program is not needed


@pytest.mark.uses("budget")
def test_a_budget_that_is_used_up_ends_an_agent_and_its_paid_request_counts(tmp_path: Path) -> None:
    """The agent would ask for ever, and takes an error for a reason to ask again."""
    code = """
import json, os, urllib.error, urllib.request
body = json.dumps({"messages": [{"role": "user", "content": "more"}]}).encode()
headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
while True:
    request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, headers)
    try:
        urllib.request.urlopen(request).read()
    except urllib.error.HTTPError:
        pass
"""

    began = time.monotonic()
    with FaultServer(choose=after_the_stop(tmp_path, 1)) as server:
        model = ("--model=m", f"--model-url={server.url}", "--budget=1s", "--limit=1", "--run-dir=run")
        result = run_wild("-p", "tests.plugin.late_budget", agent(tmp_path, code), *model, cwd=tmp_path, status=1)
        sent = len(server.requests)
    found = summary(tmp_path / "run")
    assert found["usage"]["requests"] == sent > 0, result.output
    assert found["tasks"]["wild"]["missing"] == found["tasks"]["wild"]["planned"]
    assert time.monotonic() - began < 100
