"""WildToolBench's scoring against what the original code said about invented replies, and against the rules of
docs/benchmarks/wild.md#evaluator-of-2025."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.estimate import estimate, totals
from bench_wild.arguments import check, check_schema, edit_ratio, find_tool, is_chinese, rouge_l, same_text, segmented
from bench_wild.data import RecordProblem, Session, build_session
from bench_wild.evaluator2025 import CallsReply, SoftVerdict, judge_softly
from bench_wild.files import reference_stop, score_files, write_result_lines
from bench_wild.fixes import PARITY
from bench_wild.labels import MIXED, PARALLEL, SEQUENTIAL
from bench_wild.metrics import STRUCTURED, formula, official, session_values, task_values
from bench_wild.score import TurnVerdict, judge, score_task
from bench_wild.steps import read_steps
from tests.every import every
from tests.parity.golden import WHOLE, cases, listed, load, needs, parameters, vector
from tests.parity.wild_runs import RUNS, run_scripted, run_session, score_line

pytestmark = needs("wild")


@lru_cache
def sessions() -> Mapping[str, Session]:
    return {record["id"]: build_session(record) for record in listed("wild", "sessions.json", WHOLE)}


@lru_cache
def scripts() -> Mapping[str, Any]:
    return {script["id"]: script["tasks"] for script in listed("wild", "model_scripts.json", WHOLE)}


@lru_cache
def result_of(id: str, position: int) -> Any:
    session = sessions()[id]
    return run_scripted(session, session.tasks[position], scripts()[id][position])[0]


def of_tasks(name: str, tasks: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Entries of a file, one per task, as test parameters."""
    return parameters("wild", name, [(f"{task['id']}-t{task['task_idx'] + 1}", task) for task in tasks])


def results() -> list[dict[str, Any]]:
    entries = listed("wild", "expected_results.json", WHOLE)
    return [{**task, "id": session["id"]} for session in entries for task in session["tasks"]]


# -- string_cases.json, argument_cases.json


@every("case", cases("wild", "string_cases.json", WHOLE))
def test_text(case: Mapping[str, Any]) -> None:
    from bench_wild.arguments import compare_text

    predicted, gold = case["predicted"], case["gold"]
    assert compare_text(predicted, gold, "p") == case["result"]
    assert same_text(predicted, gold) == case["normalised_equal"]
    assert edit_ratio(predicted, gold) == case["edit_ratio"]
    assert (is_chinese(predicted) or is_chinese(gold)) == case["segmented"]
    if case["segmented"]:
        assert segmented(predicted, gold) == (case["predicted_tokens"], case["gold_tokens"])
    if case["rouge_l_f"] is None:
        with pytest.raises(ValueError, match="sentence"):
            rouge_l(*segmented(predicted, gold))
    else:
        assert rouge_l(*segmented(predicted, gold)) == case["rouge_l_f"]


@every("case", cases("wild", "argument_cases.json"))
def test_arguments(case: Mapping[str, Any]) -> None:
    tool = find_tool(load("wild", "argument_cases.json")["tools"], case["function"])
    assert tool is not None
    if "expected_error" in case:
        with pytest.raises((RecursionError, ValueError)):
            check(tool, case["predicted"], json.loads(case["gold"]), PARITY)
        return
    assert check_schema(tool, case["predicted"], PARITY) == case["schema_result"]
    assert check(tool, case["predicted"], json.loads(case["gold"]), PARITY) == case["result"]


# -- expected_results.json, expected_metrics.json, record_shapes.json


def as_expected(verdict: TurnVerdict) -> dict[str, Any]:
    """A verdict in the words of expected_results.json."""
    steps = {}
    for step in verdict.steps:
        shown: dict[str, Any] = {"name_label": step.action}
        if step.arguments is not None:
            shown["arguments_label"] = step.arguments
        if step.arguments == "error":
            shown["arguments_check_result"] = list(step.outcomes)
        if step.reason:
            shown["error_reason"] = step.reason
        if step.candidates:
            shown["candidates"] = [[[call.name, call.arguments] for call in group] for group in step.candidates]
        steps[step.key] = shown
    return {
        "label": "correct" if verdict.correct else "error",
        "action_name_label": verdict.action,
        "action_arguments_label": verdict.arguments,
        "is_optimal": verdict.optimal,
        "counted_steps": len(verdict.steps),
        "steps": steps,
    }


@needs("wild", *RUNS)
@every("expected", of_tasks("expected_results.json", results()))
def test_verdict(expected: Mapping[str, Any]) -> None:
    session = sessions()[expected["id"]]
    task = session.tasks[expected["task_idx"]]
    verdict = judge(result_of(session.id, task.position), session.tools, PARITY)
    found = as_expected(verdict)
    assert found == {name: expected[name] for name in found}
    assert task.gold_nodes == expected["gold_nodes"]
    assert verdict.stops == ""
    score = score_task(session, task, result_of(session.id, task.position))
    assert score.passed == (expected["label"] == "correct")
    assert score.group == session.id
    assert bool(score.labels) == bool(score.explanation) == (not score.passed)


@vector("wild", "expected_metrics.json")
@needs("wild", *RUNS, "expected_metrics.json")
def test_metric_file() -> None:
    info = load("wild", "expected_metrics.json")
    scores = [
        score_task(session, task, result_of(session.id, task.position))
        for session in sessions().values()
        for task in session.tasks
    ]
    of_sessions = [session_values([score.values for score in scores if score.group == id], PARITY) for id in sessions()]
    assert official(of_sessions, info["model_name"]) == info
    assert json.dumps(official(of_sessions, info["model_name"])) == json.dumps(info)  # the order of keys too
    columns = estimate(scores, formula("parity"))
    for name, entry, rate, total in (
        ("Task", info["total_info"]["task"], "accuracy", "total_count"),
        ("Session", info["total_info"]["session"], "accuracy", "total_count"),
        ("Progress", info["progress_info"]["Total"], "rate", "total_step"),
        ("Optimal", info["optimal_info"]["Total"], "accuracy", "total_count"),
    ):
        # where there is nothing to count the original writes 0, and a table of ours shows no value
        assert columns[name].value == (pytest.approx(100 * entry[rate]) if entry[total] else None), name


@vector("wild", "expected_metrics.json")
@needs("wild", *RUNS, "expected_metrics.json")
def test_original_result_file(tmp_path: Path) -> None:
    """The exported file, scored again, gives the original's metric file."""
    info = load("wild", "expected_metrics.json")
    records = listed("wild", "sessions.json", WHOLE)
    data = tmp_path / "Wild-Tool-Bench.jsonl"
    data.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    results = [
        (session, task, result_of(session.id, task.position))
        for session in sessions().values()
        for task in session.tasks
    ]
    out = tmp_path / "result.jsonl"
    assert write_result_lines(out, reversed(results), info["model_name"]) == []
    found = score_files(tmp_path, out)
    assert found["official"] == info
    assert found["stops"] == []
    assert len(found["samples"]) == len(results)


@vector("wild", "record_shapes.json")
@needs("wild", *RUNS, "record_shapes.json")
def test_record_shapes(tmp_path: Path) -> None:
    shapes = load("wild", "record_shapes.json")
    line = shapes["result_line"]
    session = sessions()[line["id"]]
    assert score_line(session, line) == json.loads(json.dumps(shapes["score_line"]))
    out = tmp_path / "result.jsonl"
    write_result_lines(
        out, [(session, task, result_of(session.id, task.position)) for task in session.tasks], line["model_name"]
    )
    assert renamed(json.loads(out.read_text(encoding="utf-8"))) == renamed(line)


def renamed(value: Any) -> Any:
    """Without the call ids of the gold history, which are random."""
    if isinstance(value, dict):
        return {key: renamed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one) for one in value]
    return "history" if isinstance(value, str) and value.startswith(("toolu_bdrk_", "history_call_")) else value


# -- aggregation_cases.json


@needs("wild", "sessions.json")
@every("case", cases("wild", "aggregation_cases.json", WHOLE))
def test_aggregation(case: Mapping[str, Any]) -> None:
    of_sessions = []
    for record in case["records"]:
        tasks = sessions()[record["id"]].tasks
        values = [
            task_values(
                type=task.type,
                position=task.position,
                subtype=task.subtype,
                structure=task.type if task.type in STRUCTURED else None,
                correct=given["label"] == "correct",
                optimal=given["is_optimal"],
                steps=(given["counted_steps"], task.gold_nodes),
                nodes=(0, len(task.answer_list)),
            )
            for task, given in zip(tasks, record["tasks"], strict=False)
        ]
        of_sessions.append(session_values(values, PARITY))
    assert official(of_sessions, case["metrics"]["model_name"]) == case["metrics"]


# -- abnormal_cases.json


def abnormal(field: str = "") -> list[Any]:
    """The cases that have ``field`` (without one: all)."""
    entries = listed("wild", "abnormal_cases.json", WHOLE)
    fitting = [(str(case.get("name", place)), case) for place, case in enumerate(entries) if not field or field in case]
    return parameters("wild", "abnormal_cases.json", fitting)


def padded(record: Mapping[str, Any]) -> dict[str, Any]:
    """The session of a case. What a session of fewer than four tasks lacks to be valid is its first task again."""
    whole = dict(record)
    for twin in ("english_", ""):
        for field, count in (("tasks", 4), ("answer_list", 4), ("task_types", 4), ("turn_subtypes", 3)):
            values = list(record[f"{twin}{field}"])
            filler = "Partial Information" if field == "turn_subtypes" else values[0]
            whole[f"{twin}{field}"] = [*values, *[filler] * (count - len(values))]
    return whole


def exception_of(case: Mapping[str, Any]) -> str:
    """The exception that the case records; empty where the reference did not stop."""
    said = str(case["reference_evaluation"] or "")
    return said.removeprefix("stops with ") if said.startswith("stops with ") else ""


@pytest.mark.parametrize("case", abnormal())
def test_what_the_original_stops_on_is_never_scored_in_silence(case: Mapping[str, Any], tmp_path: Path) -> None:
    """Scoring names the exception, or refuses the session; the latter only where the README calls the case invalid
    input."""
    record = padded(case["session"])
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(record), encoding="utf-8")
    session, out = build_session(record), tmp_path / "result.jsonl"
    result = run_session_of(session, case["script"])
    outputs = [result] * len(case["script"]) if isinstance(result, str) else result
    write_result_lines(
        out, [(session, task, output) for task, output in zip(session.tasks, outputs, strict=False)], "m"
    )
    try:
        stops = score_files(tmp_path, out)["stops"]
    except RecordProblem:
        assert exception_of(case)
        assert not {"tolerant_results", "tolerant_rule"} & set(case)
        return
    assert [exception_of(case) in stop["reason"] for stop in stops] == [True] * bool(exception_of(case))


@pytest.mark.parametrize("case", abnormal("tolerant_results"))
def test_a_task_that_the_original_stops_on_is_an_action_error(case: Mapping[str, Any]) -> None:
    session = build_session(padded(case["session"]))
    values = []
    for expected, script in zip(case["tolerant_results"], case["script"], strict=True):
        task = session.tasks[expected["task_idx"]]
        result = run_scripted(session, task, script)[0]
        assert isinstance(result, dict)
        verdict = judge(result, session.tools, PARITY)
        found = as_expected(verdict)
        assert found == {name: expected[name] for name in found}
        assert verdict.stops in (exception_of(case), "")
        score = score_task(session, task, result)
        assert bool(score.stops) == bool(verdict.stops)
        assert score.passed == (expected["label"] == "correct")
        values.append(score.values)
    expected_metrics = case["tolerant_metrics"]
    assert official([session_values(values, PARITY)], expected_metrics["model_name"]) == expected_metrics


@pytest.mark.parametrize("case", abnormal("tolerant_rule"))
def test_a_session_that_failed_is_wrong_as_a_whole(case: Mapping[str, Any]) -> None:
    session = build_session(padded(case["session"]))
    count = len(case["script"])
    result = run_session_of(session, case["script"])
    assert result == case["reference_inference"]
    scores = [score_task(session, task, result) for task in session.tasks[:count]]
    assert exception_of(case)
    assert reference_stop(session.id, 0, 1, result, scores).startswith(exception_of(case))
    metrics = official([session_values([score.values for score in scores], PARITY)], "m")
    assert metrics["total_info"] == {
        "task": {"accuracy": 0.0, "correct_count": 0, "total_count": count},
        "session": {"accuracy": 0.0, "correct_count": 0, "total_count": 1},
    }
    assert metrics["progress_info"]["Total"]["complete_step"] == 0
    assert not any(value for score in scores for name, value in score.values.items() if name.endswith(" done"))


def run_session_of(session: Session, script: Any) -> Any:
    """As run_session, for the first tasks only."""
    return run_session(dataclasses.replace(session, tasks=session.tasks[: len(script)]), script)


# -- earlier_release_scores.json


@lru_cache
def soft(id: str, position: int) -> SoftVerdict:
    session, result = sessions()[id], result_of(id, position)
    return judge_softly(
        [CallsReply(step.calls) for step in read_steps(result["inference_log"])],
        session.tasks[position].answer_list,
        session.tools,
        action_correct=result["action_name_label"] == "correct",
        optimal=result["is_optimal"],
    )


@needs("wild", *RUNS)
@every("expected", of_tasks("earlier_release_scores.json", listed("wild", "earlier_release_scores.json", "tasks")))
def test_soft_verdict(expected: Mapping[str, Any]) -> None:
    task = sessions()[expected["id"]].tasks[expected["task_idx"]]
    verdict = soft(expected["id"], task.position)
    assert ("correct" if verdict.correct else "error") == expected["final_label"]
    action_correct = result_of(expected["id"], task.position)["action_name_label"] == "correct"
    assert (action_correct and verdict.scores is None) == expected["scoring_exception"]
    assert verdict.scores == (None if expected["call_scores"] is None else tuple(expected["call_scores"]))
    assert [{"idx": one.reply, "error_type": list(one.kinds)} for one in verdict.bad] == expected["bad_calls"]
    assert verdict.error == expected["error_class"]
    assert task.structure == expected["structure"]
    assert len(task.answer_list) == expected["gold_nodes"]
    if expected["progress_steps"] is not None:
        assert verdict.progress == expected["progress_steps"]


@vector("wild", "earlier_release_scores.json", "aggregate")
@needs("wild", *RUNS, "earlier_release_scores.json")
def test_soft_totals() -> None:
    expected = load("wild", "earlier_release_scores.json")["aggregate"]
    scores = []
    for entry in listed("wild", "earlier_release_scores.json", "tasks"):
        session, position = sessions()[entry["id"]], entry["task_idx"]
        result = result_of(session.id, position)
        scores.append(score_task(session, session.tasks[position], result, evaluator="2025"))
    sums = Counter(totals(score.values for score in scores))  # of a structure that does not occur there is no sum
    counts = {
        name.removeprefix("error "): int(value) for name, value in sums.items() if name.startswith("error ") and value
    }
    assert counts == expected["error_counts"]
    assert sums["errors"] == expected["errors"]
    for name, kind in (("combine", PARALLEL), ("serial", SEQUENTIAL), ("cs", MIXED)):
        assert [sums[f"{kind} done"], sums[kind]] == expected["accuracy_by_structure"][name]
    for field, start, kinds in (
        ("optimal", "path", {"combine": PARALLEL, "cs": MIXED}),
        ("progress", "steps", {"serial": SEQUENTIAL, "cs": MIXED}),
    ):
        pairs = {name: [sums[f"{start} {kind} done"], sums[f"{start} {kind}"]] for name, kind in kinds.items()}
        assert {**pairs, "sum": [sum(column) for column in zip(*pairs.values(), strict=True)]} == expected[field]
    labels = Counter(label for score in scores for label in score.labels)
    assert labels == Counter({name.replace(" ", "_"): count for name, count in expected["error_counts"].items()})
