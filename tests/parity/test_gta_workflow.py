"""Every case of GTA-Workflow's golden files: what the original code did with invented data.

``judge_uploads.json`` and ``eval_pack.json`` have modules of their own; ``metrics.json`` holds this project's
definitions.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialect import Action, Call, CallError, Finish
from agentgauge.agent.loop import Exchange
from agentgauge.core.errors import DataProblem
from agentgauge.core.index import object_entries
from agentgauge.core.tools import ToolOutput
from agentgauge.core.types import Sample
from bench_gta.workflow import data, run, tree
from bench_gta.workflow.metrics import figures, values_of
from bench_gta.workflow.prompts import LeafVerdict, leaf_fields, read_reply
from bench_gta.workflow.score import detail as detail_of
from bench_gta.workflow.score import run_result
from bench_gta.workflow.trace import attached_files, compress, error_step, opening, records, until_error, with_tool_list
from tests.every import every
from tests.parity.golden import cases, close, needs

pytestmark = needs("gta_workflow")

FILES_NOTE = "The related files are at "
"""The original's words, which a run of ours would take from a prompts folder."""


def near(value: Any) -> Any:
    """The tolerance of these vectors."""
    return close(value, 1e-9)


def refused(case: Mapping[str, Any], run: Callable[[], Any]) -> bool:
    """Whether the case records an error; the run must then refuse its input."""
    if not isinstance(case["expected"], Mapping) or "error" not in case["expected"]:
        return False
    with pytest.raises(DataProblem):
        run()
    return True


# -- judge_replies.json


@every("case", cases("gta_workflow", "judge_replies.json"))
def test_reading_a_reply_of_the_judge(case: dict[str, Any]) -> None:
    if refused(case, lambda: read_reply(case["reply"])):
        return
    verdict = read_reply(case["reply"])
    assert verdict.score == near(case["expected"]["score"])
    assert verdict.analysis == case["expected"]["analysis"]


# -- tree_scoring.json


def judged(checkpoints: Any, replies: list[str]) -> tuple[tree.Value, list[LeafVerdict]]:
    root = tree.parse(checkpoints)
    verdicts = [read_reply(replies.pop(0)) for _ in tree.leaves(root)]
    return tree.aggregate(root, [verdict.score for verdict in verdicts]), verdicts


def same_nodes(found: list[Any], expected: list[Any]) -> None:
    plain = [(node["id"], node["analysis"]) for node in found]
    assert plain == [(node["id"], node["analysis"]) for node in expected]
    assert [node["score"] for node in found] == [near(node["score"]) for node in expected]


@every("case", cases("gta_workflow", "tree_scoring.json"))
def test_scoring_a_tree(case: dict[str, Any]) -> None:
    if refused(case, lambda: judged(case["checkpoints"], list(case["replies"]))):
        return
    replies = list(case["replies"])
    root, verdicts = judged(case["checkpoints"], replies)
    assert replies == []
    detail = detail_of(0, root, verdicts)
    assert detail["score"] == near(case["expected"]["root_score"])
    assert len(detail["nodes"]) == case["expected"]["leaf_count"]
    same_nodes(detail["nodes"], case["expected"]["nodes"])


# -- run_scores.json


def scored(case: Mapping[str, Any], replies: list[str]) -> tuple[dict[str, Any], list[Any]]:
    """The result of a run, and the files that each call of the judge was given. Takes the replies that it uses."""
    details, files = [], []
    attached, indices = case.get("attached_files"), case.get("indices")
    for place, (checkpoints, _) in enumerate(zip(case["checkpoints"], case["assistant_outputs"], strict=False)):
        root, verdicts = judged(checkpoints, replies)
        details.append(detail_of(indices[place] if indices else place, root, verdicts))
        # quirk (docs/benchmarks/gta_workflow.md#run-scores): a sample beyond the end of the list gets the whole list,
        # and one text goes to every sample
        own = isinstance(attached, list) and place < len(attached)
        files += [attached[place] if own else attached] * len(verdicts)
    return run_result(details), files


@every("case", cases("gta_workflow", "run_scores.json"))
def test_scoring_a_run(case: dict[str, Any]) -> None:
    if refused(case, lambda: scored(case, list(case["replies"]))):
        return
    replies = list(case["replies"])
    result, files = scored(case, replies)
    expected = case["expected"]["result"]
    assert (replies, files) == ([], case["expected"]["files_per_judge_call"])
    assert result["gpt_score"] == near(expected["gpt_score"])
    assert result["sample_scores"] == [near(score) for score in expected["sample_scores"]]
    assert [detail["sample_index"] for detail in result["details"]] == [
        detail["sample_index"] for detail in expected["details"]
    ]
    for detail, wanted in zip(result["details"], expected["details"], strict=True):
        assert detail["score"] == near(wanted["score"])
        same_nodes(detail["nodes"], wanted["nodes"])


# -- leaf_prompt_fields.json


@every("case", cases("gta_workflow", "leaf_prompt_fields.json"))
def test_parts_of_a_leaf_prompt(case: dict[str, Any]) -> None:
    if refused(case, lambda: leaf_fields(case["node"], case["trace"], case["origin_prompt"])):
        return
    found = leaf_fields(case["node"], case["trace"], case["origin_prompt"])
    assert {"task": found.task, "final_answer": found.final_answer, "requirement": found.requirement} == case[
        "expected"
    ]


# -- attached_files.json


@every("case", cases("gta_workflow", "attached_files.json"))
def test_finding_produced_files(case: dict[str, Any]) -> None:
    if refused(case, lambda: attached_files(until_error(case["turns"]))):
        return
    turns = until_error(case["turns"])
    assert {"attached_files": attached_files(turns), "turns_recorded": len(turns)} == case["expected"]


# -- tool_call_compression.json


@every("case", cases("gta_workflow", "tool_call_compression.json"))
def test_compressing_calls(case: dict[str, Any]) -> None:
    if not refused(case, lambda: compress(case["steps"])):
        assert compress(case["steps"]) == case["expected"]["assistant_outputs"]


# -- agent_steps.json


def exchange(action: Mapping[str, Any]) -> Exchange:
    """An action of the golden file in our terms. Unreadable arguments are under ``inputs`` there."""
    outputs = tuple(ToolOutput(**item) for item in action["result"]) if "result" in action else None
    done: Action
    if action["type"] == "FinishAction":
        done = Finish(action["args"].get("text", ""))
    elif "errmsg" in action:
        arguments = action["args"]["inputs"] if action["state"] == "ARGS_ERROR" else action["args"]
        done = CallError(action["type"], arguments, action["state"], action["errmsg"])
    else:
        done = Call(action["type"], action["args"], action["args"])
    return Exchange(action["thought"] or "", done, outputs)


@every("case", cases("gta_workflow", "agent_steps.json"))
def test_messages_and_steps_of_a_user_turn(case: dict[str, Any]) -> None:
    files = [file["path"] for file in case.get("files", [])]
    messages = opening(case["query"], files, note=FILES_NOTE, dialect="react", memory=case.get("memory", []))
    steps = [step for action in case["actions"] for step in records(exchange(action))]
    assert {"messages": messages, "steps": steps} == case["expected"]


# -- prediction_records.json


def error_of(type: str, msg: str) -> Any:
    """The step of an exception, whose text is not always its message: that of a KeyError is in quotes."""
    error = getattr(builtins, type, Exception)(msg)
    return error_step(type, str(error))


@pytest.mark.parametrize(("type", "text"), [("KeyError", "'a'"), ("ValueError", "a"), ("APIError", "a")])
def test_the_step_of_an_exception(type: str, text: str) -> None:
    assert error_of(type, "a")["content"] == f"[AgentInferencerError] {type}: {text}"


@pytest.mark.parametrize("case", cases("gta_workflow", "prediction_records.json"))
def test_a_record_of_the_prediction_file(case: dict[str, Any], tmp_path: Path) -> None:
    turns = [[error_of(**turn["__raise__"])] if isinstance(turn, dict) else turn for turn in case["turns"]]
    found = run.record(case["dialogs"], turns, case.get("full_tree"))
    assert found == case["expected"]["record"]
    assert (found["origin_prompt"] if found else []) == case["expected"]["queries"]
    if found:
        others = [{**found, "task_id": str(place)} for place in range(case.get("index", 0))]
        run.write_predictions(tmp_path / "predictions.json", [*others, found])
        stored = json.loads((tmp_path / "predictions.json").read_text(encoding="utf-8"))
        assert stored[case["expected"]["record_key"]] == found
        assert run.read_predictions(tmp_path / "predictions.json") == [*others, found]


# -- dataset_loading.json


@pytest.mark.parametrize("case", cases("gta_workflow", "dataset_loading.json"))
def test_loading_tasks(case: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / data.DATASET).write_text(json.dumps(case["end_json"]), encoding="utf-8")
    if "toolmeta" in case:
        (tmp_path / data.TOOLMETA).write_text(json.dumps(case["toolmeta"]), encoding="utf-8")
    for path in case.get("existing_files", []):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    if refused(case, lambda: data.index(tmp_path)):
        return
    samples = []
    for entry in object_entries(tmp_path / data.DATASET):
        sample = Sample(entry.key, "gta_workflow", (), entry.value, tmp_path)
        loaded = data.resolve(sample, "{root}")
        samples.append(
            {"id": sample.id, "dialogs": loaded.dialogs, "resources": loaded.resources, "full_tree": loaded.full_tree}
        )
    assert samples == case["expected"]["samples"]


# -- tool_list_injection.json


@every("case", cases("gta_workflow", "tool_list_injection.json"))
def test_listing_tools_before_the_first_turn(case: dict[str, Any]) -> None:
    if refused(case, lambda: with_tool_list(case["dialogs"], case.get("toolmeta"))):
        return
    assert with_tool_list(case["dialogs"], case.get("toolmeta")) == case["expected"]["dialogs"]


# -- metrics.json

METRICS = {
    "n_tasks": "Tasks",
    "n_leaves": "Leaves",
    "root_score": "Root Score",
    "root_score_scored_only": "Root Score (scored)",
    "leaf_sr": "Leaf SR",
    "root_sr": "Root SR",
    **{f"{letter}_sr": f"{letter.upper()}-SR" for letter in "polc"},
    **{f"n_{letter}": f"{letter.upper()} tasks" for letter in "polc"},
    "tool_calls": "Tool calls",
    "tool_call_errors": "Tool errors",
    "tool_sr": "Tool SR",
}


@every("case", cases("gta_workflow", "metrics.json"))
def test_metrics_of_a_run(case: dict[str, Any]) -> None:
    values = [
        values_of(
            task.get("root_score", 0.0),
            task["leaf_scores"] if task["status"] == "ok" else [0.0] * task["leaf_count"],
            task["categories"],
            task["tool_calls"],
            task["tool_call_errors"],
            0,
            0,
            task["status"],
            leaf_threshold=case["leaf_threshold"],
            root_threshold=case["root_threshold"],
        )
        for task in case["tasks"]
    ]
    found = figures(values)
    expected = dict(case["expected"])
    assert sum(one["scored"] for one in values) == expected.pop("n_scored")
    assert expected.keys() == METRICS.keys()
    for name, value in expected.items():
        assert found[METRICS[name]] == (None if value is None else near(value)), name
