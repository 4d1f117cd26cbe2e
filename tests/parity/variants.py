"""Other sets of vectors, as valid as this repository's: fewer cases, in another order, under other names.

What sums up several cases (a run's score, a metric file) is summed up again from the recorded results of those that
stay.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_gta.atomic.fixes import PARITY
from bench_gta.atomic.metrics import e2e_metrics, step_metrics
from bench_gta.atomic.score import e2e_values, step_values
from bench_gta.similarity import similarity
from bench_wild.data import build_session
from bench_wild.fixes import PARITY as WILD_PARITY
from bench_wild.metrics import STRUCTURED, official, session_values, task_values
from tests.parity.golden import DEFAULT, VECTORS, WHOLE

Keep = Callable[[list[Any]], list[Any]]
"""Which of several cases stay; never none."""

Files = dict[str, Any]
"""The files of one benchmark by name, decoded."""

NAMES = {"gta_atomic": ("note",), "gta_workflow": ("id", "note"), "mmau": ("id", "desc"), "wild": ("name", "note")}
"""Fields of a case that are mere names."""

LISTS = {name: keys for files in VECTORS.values() for name, keys in files.items()}

SHARED = {"sessions.json", "model_scripts.json", "expected_messages.json", "expected_results.json"}
"""Lists of WildToolBench that are about the same sessions."""

OWN = {"abnormal_cases.json", "aggregation_cases.json", "earlier_release_scores.json"}
"""Lists of WildToolBench that are cut in ways of their own."""


def every_second(cases: list[Any]) -> list[Any]:
    return (cases[1::2] or cases)[::-1]


def the_first(cases: list[Any]) -> list[Any]:
    return cases[:1]


def write_variant(target: Path, keep: Keep, *, left_out: Collection[str] = ()) -> None:
    """Write this repository's vectors to ``target``, changed, without the benchmarks that are left out."""
    for benchmark in VECTORS.keys() - set(left_out):
        source = DEFAULT / benchmark
        files: Files = {name: json.loads((source / name).read_text(encoding="utf-8")) for name in VECTORS[benchmark]}
        changed = CHANGES.get(benchmark, _cut)(files, keep)
        (target / benchmark).mkdir(parents=True)
        for name, content in changed.items():
            whole = _renamed(content, VECTORS[benchmark][name], NAMES.get(benchmark, ()))
            (target / benchmark / name).write_text(json.dumps(whole), encoding="utf-8")


def _renamed(content: Any, keys: Sequence[str], fields: Sequence[str]) -> Any:
    for key in keys:
        for place, case in enumerate(content if key == WHOLE else content[key]):
            if isinstance(case, dict):
                case |= {field: f"another {field}, {place}" for field in fields if field in case}
    return content


def _cut(files: Files, keep: Keep, without: Collection[str] = ()) -> Files:
    """Every list of every file, cut by itself."""
    changed = dict(files)
    for name in files.keys() - set(without):
        for key in LISTS[name]:
            changed[name] = keep(files[name]) if key == WHOLE else {**changed[name], key: keep(files[name][key])}
    return changed


def _by_kind(cases: Iterable[Any], keep: Keep, kind: Callable[[Any], Any]) -> list[Any]:
    """Cut by kinds, so that every test keeps a case."""
    kinds: dict[Any, list[Any]] = {}
    for case in cases:
        kinds.setdefault(kind(case), []).append(case)
    return [case for one in kinds.values() for case in keep(one)]


# -- AgentLego: one server with all its tools, and some of the traffic


def _agentlego(files: Files, keep: Keep) -> Files:
    traffic = files["exchanges.json"]
    kept = _by_kind(traffic["exchanges"], keep, lambda exchange: exchange["kind"])
    return {**files, "exchanges.json": {**traffic, "exchanges": kept}}


# -- GTA-Atomic: runs and groups are scored again


def _atomic(files: Files, keep: Keep) -> Files:
    whole = ("score_step.json", "score_e2e.json", "messages_step.json", "messages_e2e.json")
    changed = _cut(files, keep, whole)
    for name in whole[:2]:
        changed[name] = {**files[name], **_samples_and_groups(files[name], keep)}
    stub = similarity("trigram")
    step, end = files["messages_step.json"], files["messages_e2e.json"]

    kept = [sample for sample in step["dataset"] if sample in keep(list(step["dataset"]))]
    predictions = {key: step["predictions"][str(place)] for place, key in enumerate(step["dataset"])}
    values = [
        step_values(
            predictions[key]["prediction"],
            predictions[key]["gold"],
            step["dataset"][key]["gt_answer"],
            stub,
            PARITY,
        )
        for key in kept
    ]
    changed["messages_step.json"] = {
        **step,
        "dataset": {key: step["dataset"][key] for key in kept},
        "predictions": {str(place): predictions[key] for place, key in enumerate(kept)},
        "loaded": [loaded for key, loaded in zip(step["dataset"], step["loaded"], strict=True) if key in kept],
        "samples": [sample for sample in step["samples"][::-1] if sample["sample"] in kept],
        "score": step_metrics(values, "parity"),
    }
    runs = keep(end["runs"])
    values = [
        e2e_values(
            run["prediction"]["prediction"],
            run["prediction"]["gold"],
            end["dataset"][run["sample"]]["gt_answer"],
            stub,
            PARITY,
        )
        for run in runs
    ]
    changed["messages_e2e.json"] = {**end, "runs": runs, "score": e2e_metrics(values, "parity")}
    return changed


def _samples_and_groups(file: Mapping[str, Any], keep: Keep) -> Mapping[str, Any]:
    """Groups of samples that stay; where there is none, one of a single sample."""
    samples = keep(file["samples"])
    left = {sample["index"] for sample in samples}
    groups = [group for group in file["groups"] if left.issuperset(group["indices"])]
    alone = [{"indices": [sample["index"]], "expected": sample["expected_alone"]} for sample in samples[:1]]
    return {"samples": samples, "groups": groups or alone}


# -- WildToolBench: whole sessions stay or go


def _wild(files: Files, keep: Keep) -> Files:
    shown = files["record_shapes.json"]["result_line"]["id"]
    ids = [session["id"] for session in keep(files["sessions.json"])]
    ids += [shown] * (shown not in ids)
    changed = _cut(files, keep, SHARED | OWN)
    for name in SHARED:
        changed[name] = [entry for id in ids for entry in files[name] if entry["id"] == id]
    changed["abnormal_cases.json"] = _by_kind(files["abnormal_cases.json"], keep, lambda case: tuple(sorted(case)))
    changed["aggregation_cases.json"] = [
        case for case in files["aggregation_cases.json"] if {record["id"] for record in case["records"]} <= set(ids)
    ]
    tasks = [task for id in ids for task in files["earlier_release_scores.json"]["tasks"] if task["id"] == id]
    sessions = changed["expected_results.json"]
    results = {(session["id"], task["task_idx"]): task for session in sessions for task in session["tasks"]}
    changed["earlier_release_scores.json"] = {"tasks": tasks, "aggregate": soft_totals(tasks, results)}
    model = files["expected_metrics.json"]["model_name"]
    changed["expected_metrics.json"] = metric_file(changed["sessions.json"], results, model)
    # the number in an id is the session's line
    numbers = {id: f"wild_tool_bench_{place}" for place, id in enumerate(ids)}
    own = {"abnormal_cases.json": changed.pop("abnormal_cases.json")}  # they have sessions of their own
    text = re.sub(r'"(wild_tool_bench_\d+)"', lambda found: f'"{numbers.get(found[1], found[1])}"', json.dumps(changed))
    return {**json.loads(text), **own}


Results = Mapping[tuple[str, int], Mapping[str, Any]]
"""Recorded results of tasks by session and position."""


def metric_file(sessions: Sequence[Mapping[str, Any]], results: Results, model: str) -> dict[str, Any]:
    """The metric file of sessions, from the labels of their tasks."""
    of_sessions = []
    for record in sessions:
        values = []
        for task in build_session(record).tasks:
            given = results[record["id"], task.position]
            values.append(
                task_values(
                    type=task.type,
                    position=task.position,
                    subtype=task.subtype,
                    structure=task.type if task.type in STRUCTURED else None,
                    correct=given["label"] == "correct",
                    optimal=given["is_optimal"],
                    steps=(given["counted_steps"], given["gold_nodes"]),
                    nodes=(0, len(task.answer_list)),
                )
            )
        of_sessions.append(session_values(values, WILD_PARITY))
    return official(of_sessions, model)


def soft_totals(tasks: Sequence[Mapping[str, Any]], results: Results) -> dict[str, Any]:
    """The sums of the earlier release over tasks, from their recorded labels and classes."""

    def pairs(kinds: Sequence[str], count: Callable[[Mapping[str, Any]], tuple[int, int]]) -> dict[str, list[int]]:
        found = {kind: [count(task) for task in tasks if task["structure"] == kind] for kind in kinds}
        return {kind: [sum(column) for column in zip((0, 0), *counts, strict=True)] for kind, counts in found.items()}

    def summed(counts: dict[str, list[int]]) -> dict[str, list[int]]:
        return {"sum": [sum(column) for column in zip(*counts.values(), strict=True)], **counts}

    def correct(task: Mapping[str, Any]) -> tuple[int, int]:
        return task["final_label"] == "correct", 1

    def optimal(task: Mapping[str, Any]) -> tuple[int, int]:
        return correct(task)[0] and results[task["id"], task["task_idx"]]["inference_is_optimal"], 1

    def progress(task: Mapping[str, Any]) -> tuple[int, int]:
        return task["progress_steps"], task["gold_nodes"]

    errors = Counter(task["error_class"] for task in tasks if task["error_class"])
    return {
        "error_counts": dict(errors),
        "errors": errors.total(),
        "accuracy_by_structure": pairs(("combine", "serial", "cs"), correct),
        "optimal": summed(pairs(("combine", "cs"), optimal)),
        "progress": summed(pairs(("serial", "cs"), progress)),
    }


CHANGES: Mapping[str, Callable[[Files, Keep], Files]] = {"agentlego": _agentlego, "gta_atomic": _atomic, "wild": _wild}
