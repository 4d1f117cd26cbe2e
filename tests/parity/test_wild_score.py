"""WildToolBench's scoring against what the original code said about invented replies, and against section 7's rules."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from bench_wild.arguments import check, check_schema, find_tool
from bench_wild.data import RecordProblem, Session, build_session, load_sessions
from bench_wild.evaluator2025 import Reply, SoftVerdict, judge_softly
from bench_wild.files import reference_stop, score_files, score_line, write_result_lines
from bench_wild.fixes import PARITY, STRICT
from bench_wild.labels import MIXED, PARALLEL, SEQUENTIAL
from bench_wild.metrics import STRUCTURED, official, recipe, session_values, task_values
from bench_wild.score import Verdict, judge, score_task
from bench_wild.steps import read_steps
from bench_wild.strings import edit_ratio, is_chinese, rouge_l, same_text, segmented
from harness.estimate import estimate, totals
from tests.parity.golden import golden_folder, load, unknown_files
from tests.parity.wild_runs import run_scripted, run_session

pytestmark = pytest.mark.skipif(golden_folder("wild") is None, reason="no golden data for wild")

KNOWN = {
    "abnormal_cases.json",
    "aggregation_cases.json",
    "argument_cases.json",
    "earlier_release_scores.json",
    "expected_messages.json",
    "expected_metrics.json",
    "expected_results.json",
    "graph_cases.json",
    "model_scripts.json",
    "record_shapes.json",
    "sessions.json",
    "string_cases.json",
    "tool_conversion.json",
}


def test_every_file_is_known() -> None:
    assert unknown_files("wild", KNOWN) == []


@lru_cache
def golden(name: str) -> Any:
    return load("wild", name) or []


@lru_cache
def sessions() -> Mapping[str, Session]:
    return {record["id"]: build_session(record) for record in golden("sessions.json")}


@lru_cache
def scripts() -> Mapping[str, Any]:
    return {script["id"]: script["tasks"] for script in golden("model_scripts.json")}


@lru_cache
def result_of(id: str, position: int) -> Any:
    session = sessions()[id]
    return run_scripted(session, session.tasks[position], scripts()[id][position])[0]


def tasks_of(name: str, field: str | None = None) -> list[Any]:
    """Every task of a file, as a test parameter."""
    entries = golden(name)[field] if field and golden(name) else golden(name)
    flat = entries if field else [{**task, "id": session["id"]} for session in entries for task in session["tasks"]]
    return [pytest.param(task, id=f"{task['id']}-t{task['task_idx'] + 1}") for task in flat]


# -- string_cases.json, argument_cases.json


@pytest.mark.parametrize("case", golden("string_cases.json"))
def test_text(case: Mapping[str, Any]) -> None:
    from bench_wild.strings import compare_text

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


@pytest.mark.parametrize("case", (golden("argument_cases.json") or {"cases": []})["cases"])
def test_arguments(case: Mapping[str, Any]) -> None:
    tool = find_tool(golden("argument_cases.json")["tools"], case["function"])
    assert tool is not None
    assert check_schema(tool, case["predicted"], PARITY) == case["schema_result"]
    assert check(tool, case["predicted"], json.loads(case["gold"]), PARITY) == case["result"]


# -- expected_results.json, expected_metrics.json, record_shapes.json


def as_expected(verdict: Verdict) -> dict[str, Any]:
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


@pytest.mark.parametrize("expected", tasks_of("expected_results.json"))
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


def test_metric_file() -> None:
    scores = [score_task(session, task, result_of(session.id, task.position)) for session in sessions().values() for task in session.tasks]
    of_sessions = [session_values([score.values for score in scores if score.group == id], PARITY) for id in sessions()]
    assert official(of_sessions, "golden-stub") == golden("expected_metrics.json")
    assert json.dumps(official(of_sessions, "golden-stub")) == json.dumps(golden("expected_metrics.json"))  # the order of keys too
    columns, info = estimate(scores, recipe("parity")), golden("expected_metrics.json")
    assert columns["Task"].value == pytest.approx(100 * info["total_info"]["task"]["accuracy"])
    assert columns["Session"].value == pytest.approx(100 * info["total_info"]["session"]["accuracy"])
    assert columns["Progress"].value == pytest.approx(100 * info["progress_info"]["Total"]["rate"])
    assert columns["Optimal"].value == pytest.approx(100 * info["optimal_info"]["Total"]["accuracy"])


def test_original_result_file(tmp_path: Path) -> None:
    """The exported file, scored again, gives the original's metric file."""
    data = tmp_path / "Wild-Tool-Bench.jsonl"
    data.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in golden("sessions.json")), encoding="utf-8")
    results = [(session, task, result_of(session.id, task.position)) for session in sessions().values() for task in session.tasks]
    out = tmp_path / "result.jsonl"
    assert write_result_lines(out, reversed(results), "golden-stub") == []
    found = score_files(tmp_path, out)
    assert found["official"] == golden("expected_metrics.json")
    assert found["stops"] == []
    assert len(found["samples"]) == 108


def test_record_shapes(tmp_path: Path) -> None:
    shapes = golden("record_shapes.json")
    line = shapes["result_line"]
    session = sessions()[line["id"]]
    assert score_line(session, line, PARITY) == json.loads(json.dumps(shapes["score_line"]))
    out = tmp_path / "result.jsonl"
    write_result_lines(out, [(session, task, result_of(session.id, task.position)) for task in session.tasks], line["model_name"])
    assert renamed(json.loads(out.read_text(encoding="utf-8"))) == renamed(line)


def renamed(value: Any) -> Any:
    """Without the call ids of the gold history, which are random."""
    if isinstance(value, dict):
        return {key: renamed(one) for key, one in value.items()}
    if isinstance(value, list):
        return [renamed(one) for one in value]
    return "history" if isinstance(value, str) and value.startswith(("toolu_bdrk_", "history_call_")) else value


# -- aggregation_cases.json


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in golden("aggregation_cases.json")])
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
    assert official(of_sessions, "m") == case["metrics"]


# -- abnormal_cases.json


def abnormal(*fields: str, without: str = "-") -> list[Any]:
    fits = [case for case in golden("abnormal_cases.json") if all(field in case for field in fields) and without not in case]
    return [pytest.param(case, id=case["name"]) for case in fits]


@pytest.mark.parametrize("case", abnormal("tolerant_results"))
@pytest.mark.parametrize("scoring", ["parity", "strict"])
def test_what_the_original_stops_on_is_an_action_error(case: Mapping[str, Any], scoring: Any) -> None:
    session = build_session({**case["session"], **padding(case["session"])})
    for expected, script in zip(case["tolerant_results"], case["script"], strict=True):
        task = session.tasks[expected["task_idx"]]
        result = run_scripted(session, task, script)[0]
        assert isinstance(result, dict)
        verdict = judge(result, session.tools, PARITY)
        found = as_expected(verdict)
        assert found == {name: expected[name] for name in found}
        assert case["reference_evaluation"] == f"stops with {verdict.stops}"
        score = score_task(session, task, result, scoring)
        assert not score.passed
        assert bool(score.stops) == (scoring == "parity" or "prepare" not in case["name"])
    of_session = session_values([score_task(session, session.tasks[0], result).values], PARITY)
    assert official([of_session], "golden-stub") == case["tolerant_metrics"]


@pytest.mark.parametrize("case", abnormal("tolerant_rule"))
def test_a_session_that_failed_is_wrong_as_a_whole(case: Mapping[str, Any]) -> None:
    session = build_session({**case["session"], **padding(case["session"])})
    count = len(case["script"])
    result = run_session_of(session, case["script"])
    assert result == case["reference_inference"]
    scores = [score_task(session, task, result) for task in session.tasks[:count]]
    assert case["reference_evaluation"] == "stops with TypeError"
    assert reference_stop(session.id, 0, 1, result, scores).startswith("TypeError")
    metrics = official([session_values([score.values for score in scores], PARITY)], "m")
    assert metrics["total_info"] == {
        "task": {"accuracy": 0.0, "correct_count": 0, "total_count": count},
        "session": {"accuracy": 0.0, "correct_count": 0, "total_count": 1},
    }
    assert metrics["progress_info"]["Total"]["complete_step"] == 0
    assert not any(value for score in scores for name, value in score.values.items() if name.endswith(" done"))


def run_session_of(session: Session, script: Any) -> Any:
    """As run_session, for the first tasks only."""
    import dataclasses

    return run_session(dataclasses.replace(session, tasks=session.tasks[: len(script)]), script)


ARGUMENTS_NO_TEXT = ("arguments as an object instead of text", "arguments null")
INVALID_DATA = ("five tasks in a session", "unknown task type")
NO_TOOL = "gold tool missing from the tool list"
OTHER_LINE = "id suffix is not the line number"


def test_every_abnormal_case_has_a_test() -> None:
    rest = [case.id for case in abnormal() if not {"tolerant_results", "tolerant_rule"} & set(case.values[0])]
    assert sorted(rest) == sorted((*ARGUMENTS_NO_TEXT, *INVALID_DATA, NO_TOOL, OTHER_LINE))


def named(name: str) -> Mapping[str, Any]:
    case: Mapping[str, Any] = next(case for case in golden("abnormal_cases.json") if case["name"] == name)
    return case


@pytest.mark.parametrize(("name", "tolerant"), list(zip(ARGUMENTS_NO_TEXT, (True, False), strict=True)))
def test_arguments_that_are_no_text_count_as_wrong_or_are_judged_under_strict(name: str, tolerant: bool) -> None:
    case = named(name)
    session = build_session({**case["session"], **padding(case["session"])})
    result = run_scripted(session, session.tasks[0], case["script"][0])[0]
    assert isinstance(result, dict)
    verdict = judge(result, session.tools, PARITY)
    assert (verdict.correct, verdict.action, f"stops with {verdict.stops}") == (False, "error", case["reference_evaluation"])
    under_strict = judge(result, session.tools, STRICT)
    assert under_strict.correct == tolerant
    assert under_strict.stops == ""
    if not tolerant:
        assert under_strict.steps[0].outcomes == ("error: args invalid json format",)


@pytest.mark.parametrize("name", INVALID_DATA)
def test_invalid_sessions_are_refused_when_they_are_read(name: str, tmp_path: Path) -> None:
    """The original runs them and then stops with a KeyError."""
    case = named(name)
    record = {**padding(case["session"]), **case["session"]} if name.startswith("five") else {**case["session"], **padding(case["session"])}
    file = tmp_path / "Wild-Tool-Bench.jsonl"
    file.write_text(json.dumps(record), encoding="utf-8")
    assert case["reference_evaluation"] == "stops with KeyError"
    with pytest.raises(RecordProblem):
        load_sessions(file)


def test_a_gold_tool_that_is_missing_makes_an_action_error() -> None:
    case = named(NO_TOOL)
    session = build_session({**case["session"], **padding(case["session"])})
    result = run_scripted(session, session.tasks[0], case["script"][0])[0]
    assert isinstance(result, dict)
    for fixes in (PARITY, STRICT):
        verdict = judge(result, session.tools, fixes)
        assert (verdict.action, f"stops with {verdict.stops}") == ("error", case["reference_evaluation"])


def test_an_id_that_is_not_the_line_number_is_reported(tmp_path: Path) -> None:
    case = named(OTHER_LINE)
    record = {**case["session"], **padding(case["session"])}
    session = build_session(record)
    result = run_scripted(session, session.tasks[0], case["script"][0])[0]
    (tmp_path / "Wild-Tool-Bench.jsonl").write_text(json.dumps(record), encoding="utf-8")
    out = tmp_path / "result.jsonl"
    write_result_lines(out, [(session, session.tasks[0], result)], "m")
    found = score_files(tmp_path, out)
    (stop,) = found["stops"]
    assert case["reference_evaluation"] == f"stops with {stop['reason'].split(':')[0]}"
    assert found["metrics"]["Task"] == 100  # ours is found by its id


def padding(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a session of fewer than four tasks lacks to be valid: its first task again."""
    padded = {}
    for twin in ("english_", ""):
        for field, count in (("tasks", 4), ("answer_list", 4), ("task_types", 4), ("turn_subtypes", 3)):
            values = list(record[f"{twin}{field}"])
            filler = "Partial Information" if field == "turn_subtypes" else values[0]
            padded[f"{twin}{field}"] = [*values, *[filler] * (count - len(values))]
    return padded


# -- earlier_release_scores.json


@lru_cache
def soft(id: str, position: int) -> SoftVerdict:
    session, result = sessions()[id], result_of(id, position)
    return judge_softly(
        [Reply(step.calls) for step in read_steps(result["inference_log"])],
        session.tasks[position].answer_list,
        session.tools,
        action_correct=result["action_name_label"] == "correct",
        optimal=result["is_optimal"],
    )


@pytest.mark.parametrize("expected", tasks_of("earlier_release_scores.json", "tasks"))
def test_soft_verdict(expected: Mapping[str, Any]) -> None:
    task = sessions()[expected["id"]].tasks[expected["task_idx"]]
    verdict = soft(expected["id"], task.position)
    assert ("correct" if verdict.correct else "error") == expected["final_label"]
    assert verdict.unscorable == expected["scoring_exception"]
    assert verdict.scores == (None if expected["call_scores"] is None else tuple(expected["call_scores"]))
    assert [{"idx": one.reply, "error_type": list(one.kinds)} for one in verdict.bad] == expected["bad_calls"]
    assert verdict.error == expected["error_class"]
    assert task.structure == expected["structure"]
    assert len(task.answer_list) == expected["gold_nodes"]
    if expected["progress_steps"] is not None:
        assert verdict.progress == expected["progress_steps"]


def test_soft_totals() -> None:
    expected = golden("earlier_release_scores.json")["aggregate"]
    scores = [
        score_task(session, task, result_of(session.id, task.position), evaluator="2025")
        for session in sessions().values()
        for task in session.tasks
    ]
    sums = totals(score.values for score in scores)
    counts = {name.removeprefix("error "): int(value) for name, value in sums.items() if name.startswith("error ") and value}
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
