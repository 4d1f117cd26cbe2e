"""What an agent delivers on GTA-Workflow is worth the same live, as a folder of outputs, and as an eval pack."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from bench_gta.workflow.prompts import final_answer
from tests.gta.pack_data import pack, stored
from tests.plugin.project import ROOT, records, run_gta, summary

pytestmark = [pytest.mark.slow, pytest.mark.uses("agents")]

MINIMAL = ROOT / "examples" / "agents" / "minimal_agent.py"

SOMETIMES = """
import json, os, runpy, sys
task = json.load(open(os.environ["AGENTGAUGE_TASK"]))
if len(task["messages"][-1]["content"]) % 3:
    runpy.run_path(sys.argv[1])
else:
    open(os.environ["AGENTGAUGE_FILES"] + "/notes.md", "w").write("not today")
    print("I do not know.")
"""
"""An agent that solves some tasks, and gives the others up."""

TWO_TURNS = "7"
WORKFLOW = ("-k", "test_workflow")


def scores(run: Path) -> dict[str, Any]:
    """The values of each case; without those of tool calls, which outputs do not have."""
    found = {record["sample"]: record["score"]["values"] for record in records(run)}
    calls = ("tool_calls", "tool_errors", "modules", "modules_ok")
    return {sample: {name: values[name] for name in values if name not in calls} for sample, values in found.items()}


def write_layout(run: Path, outputs: Path) -> None:
    """What the agent of a run has delivered, as it would have kept it itself."""
    for record in records(run):
        folder = outputs / record["sample"]
        made = run / "files" / "gta_workflow" / f"{record['sample']}-a1"
        if made.exists():
            shutil.copytree(made, folder / "files")
        for number, turn in enumerate(record["transcript"]["output"]["assistant_outputs"], start=1):
            place = folder if number == 1 else folder / f"turn{number}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "final.txt").write_text(final_answer(turn), encoding="utf-8")
        (folder / "run.json").write_text('{"elapsed_sec": 3, "usd": 0.5}')


def test_the_same_deliveries_have_the_same_scores(tmp_path: Path) -> None:
    (tmp_path / "sometimes.py").write_text(SOMETIMES)
    agent = f"--agent={sys.executable} sometimes.py {MINIMAL}"
    run_gta(agent, "--model=oracle", *WORKFLOW, "--run-dir=live", cwd=tmp_path)
    live = scores(tmp_path / "live")
    assert len(live) == 16 and len({values["root_sum"] for values in live.values()}) > 1

    outputs = tmp_path / "mine"
    write_layout(tmp_path / "live", outputs)
    result = run_gta("--agent-outputs=mine", *WORKFLOW, "--run-dir=folder", "-n", "2", cwd=tmp_path)
    assert "outputs of mine, digest" in result.output and "no model is tested" in result.output
    assert "baseline" not in result.output
    assert scores(tmp_path / "folder") == live
    shown = [record["transcript"]["output"] for record in records(tmp_path / "folder")]
    assert all(output["attached_files"] == output["delivered"] for output in shown)  # a judge of parity sees the former
    about = summary(tmp_path / "folder")
    assert (about["run"]["model"], about["run"]["agent_name"], about["usage"]["usd"]) == ("mine", "mine", 8)
    assert "asked_model" not in about["run"]

    assert pack("create", "--result-dir", outputs) == 0
    run_gta("--agent-outputs=mine/pack.json", *WORKFLOW, "--run-dir=pack", cwd=tmp_path)
    packed = scores(tmp_path / "pack")
    assert {**packed, TWO_TURNS: None} == {**live, TWO_TURNS: None}  # only the first turn of a pack is judged

    assert pack("score", "--in-pack", outputs / "pack.json") == 0
    released = stored(outputs / "pack_rules_scores.json")["task_results"]
    assert {sample: record["score"] for sample, record in released.items()} == {
        sample: values["root_sum"] for sample, values in packed.items()
    }


def deliver(outputs: Path, *samples: str) -> Path:
    for sample in samples:
        (outputs / sample).mkdir(parents=True)
        (outputs / sample / "answer.txt").write_text(f"the answer to {sample}")
    return outputs


def test_a_later_turn_that_nothing_was_delivered_for_is_not_judged(tmp_path: Path) -> None:
    deliver(tmp_path / "mine", TWO_TURNS)
    run_gta("--agent-outputs=mine", "-k", f"test_workflow and {TWO_TURNS}", "--run-dir=run", cwd=tmp_path, status=1)
    record = next(record for record in records(tmp_path / "run") if record["sample"] == TWO_TURNS)
    output = record["transcript"]["output"]
    assert [len(output[name]) for name in ("origin_prompt", "prediction", "assistant_outputs")] == [1, 1, 1]
    log = tmp_path / "run" / "logs" / "agent" / "gta_workflow" / f"{TWO_TURNS}-a1.log"
    assert log.read_text() == "the agent has delivered nothing for turn 2 of the user\n"


def test_a_run_goes_on_with_the_same_outputs_only(tmp_path: Path) -> None:
    outputs = deliver(tmp_path / "mine", "2")
    few = ("-k", "test_workflow and (2 or 3)")
    first = run_gta("--agent-outputs=mine", *few, "--run-dir=run", cwd=tmp_path, status=1)
    assert "there is no" in first.output and f"{outputs / '3'}, with answer.json" in first.output
    found = {record["sample"]: (record["status"], record.get("cause")) for record in records(tmp_path / "run")}
    assert found["2"] == ("wrong", None) and found["3"] == ("broken", "agent failed")
    again = run_gta("--resume=run", *few, cwd=tmp_path, status=1)
    assert "outputs of mine, digest" in again.output
    scored = run_gta("--rescore=run", *few, "--run-dir=again", cwd=tmp_path, status=1)
    assert "outputs of mine, digest" in scored.output
    (outputs / "2" / "files").mkdir()
    (outputs / "2" / "files" / "more.md").write_text("more")
    changed = run_gta("--resume=run", *few, cwd=tmp_path, status=4)
    assert "that run has outputs" in changed.output
    other = run_gta("--resume=run", f"--agent={sys.executable} {MINIMAL}", *few, cwd=tmp_path, status=4)
    assert "that run has agent" in other.output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--agent-outputs=mine", "--model=gpt-4o"), "--agent-outputs and --model cannot be used together"),
        (("--agent-outputs=mine", "--agent=true"), "--agent-outputs and --agent cannot be used together"),
        (("--agent-outputs=mine", "--attempts=2"), "--agent-outputs has one answer to each sample, but there are 2"),
        (("--agent-outputs=mine", "--limit=1"), "nothing was delivered for any of the 1 selected cases"),
        (("--agent-outputs=none",), "there is no"),
        (("--agent-outputs=mine", "--dialect=react"), "--dialect react and --agent-outputs cannot be used together"),
    ],
)
def test_what_is_refused_before_the_run(options: tuple[str, ...], says: str, tmp_path: Path) -> None:
    deliver(tmp_path / "mine", "2")
    assert says in run_gta(*options, *WORKFLOW, cwd=tmp_path, status=4).output


def test_there_is_no_tested_model_to_judge(tmp_path: Path) -> None:
    deliver(tmp_path / "mine", "2")
    few = ("-k", "test_workflow and 2", "--judge-model=same", "--run-dir=run")
    result = run_gta("--agent-outputs=mine", *few, cwd=tmp_path, status=4)
    assert "--judge-model same: this agent has answered already, so no model is tested" in result.output


def test_steps_of_a_gold_query_have_no_outputs(tmp_path: Path) -> None:
    deliver(tmp_path / "mine", "2")
    result = run_gta("--agent-outputs=mine", "-k", "test_step_by_step", "--limit=1", cwd=tmp_path, status=4)
    assert "--agent-outputs: gta_atomic.step cannot be run with an agent program" in result.output
