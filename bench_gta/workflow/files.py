"""Judging a prediction file of the released benchmark, or one of ours, outside a run (GTA-Workflow spec 2.6 and 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_gta.workflow import data, predictions
from bench_gta.workflow.judge import Delivery, Judge, scored
from bench_gta.workflow.judges import MadeJudge
from bench_gta.workflow.metrics import figures
from bench_gta.workflow.parts import flatten
from bench_gta.workflow.results import detail, run_result
from bench_gta.workflow.score import Thresholds, score_output
from harness.data.index import object_entries
from harness.errors import AgentGaugeError, UsageProblem
from harness.sandbox import scratch_folder
from harness.types import RUN_TOKEN, Json


def score_predictions(samples: Path | None, file: Path, made: MadeJudge, thresholds: Thresholds, *, strict: bool) -> Mapping[str, Any]:
    """Judge every record of a prediction file: ``metrics`` with the released ``gpt_score`` first, ``columns``, ``samples``.

    ``samples``: the data set, for the category columns; None leaves them without a value. Relative paths of delivered files start
    from the prediction file's folder, and only files below it are shown. A record that cannot be judged counts as one that
    failed. Raises UsageProblem and DataProblem.
    """
    records = predictions.read(file)
    tasks = _tasks(samples, records)
    base = file.absolute().parent
    deliveries = [_delivery(record, base, everything=made.judge.everything) for record in records]
    judged = asyncio.run(_judge_all(made, deliveries))
    details, told, values = [], [], []
    for place, (record, task, leaves) in enumerate(zip(records, tasks, judged, strict=True)):
        name = str(record.get("task_id", place))
        if isinstance(leaves, AgentGaugeError):
            raise UsageProblem(f"{file}: record {place} could not be judged: {leaves}") from None
        output = {"prediction": [], **record, "judged": {"leaves": leaves}}
        result = scored(record["full_tree"], leaves, strict=strict)
        score = score_output(task, output, thresholds, strict=strict)
        details.append(detail(place, result.root, result.verdicts))
        values.append(score.values)
        told.append({"id": name, "passed": score.passed, "score": result.root.value, "nodes": details[-1]["nodes"]})
    columns = figures(values)
    return {"metrics": {"gpt_score": run_result(details)["gpt_score"], **columns}, "columns": columns, "samples": told}


async def _judge_all(made: MadeJudge, deliveries: Sequence[Delivery]) -> list[list[Json] | AgentGaugeError]:
    """One after the other, as upstream; what is paid for is in the cache, so a second call goes on where this one failed."""
    outcomes: list[list[Json] | AgentGaugeError] = []
    try:
        for delivery in deliveries:
            outcomes.append(await _judge_one(made.judge, delivery))
    finally:
        await made.close()
    return outcomes


async def _judge_one(judge: Judge, delivery: Delivery) -> list[Json] | AgentGaugeError:
    with scratch_folder() as scratch:
        try:
            return await judge.judge(delivery, scratch=scratch)
        except AgentGaugeError as problem:
            return problem


def _delivery(record: Mapping[str, Json], base: Path, *, everything: bool) -> Delivery:
    listed = [str(base / path) for path in flatten(record.get("attached_files"))]
    if everything and isinstance(record.get("delivered"), list):
        listed = [str(base / path) for path in record["delivered"]]
    for path in listed:
        if Path(path).is_file() and not Path(path).resolve().is_relative_to(base.resolve()):
            raise UsageProblem(f"the delivered file {path} lies outside {base}; copy the files below the prediction file's folder")
    return Delivery(record["origin_prompt"], record["assistant_outputs"], tuple(listed), record["full_tree"], {str(base): RUN_TOKEN})


def _tasks(samples: Path | None, records: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """The data set's entry of each record: by ``task_id`` where it has one, else by position."""
    if samples is None:
        return [{}] * len(records)
    file = samples if samples.is_file() else samples / data.DATASET
    entries = {entry.key: entry.value for entry in object_entries(file)}
    keys = list(entries)
    if len(records) > len(keys):
        raise UsageProblem(f"there are {len(records)} predictions, but {file} has {len(keys)} tasks; give the data set that they are of")
    return [entries.get(str(record.get("task_id", keys[place])), {}) for place, record in enumerate(records)]
