"""Judging outside a run: a judge with a client of its own, and prediction files of the released benchmark or of ours
(docs/benchmarks/gta_workflow.md#prediction-file and docs/benchmarks/gta_workflow.md#scores).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest, Message
from agentgauge.core.config import Config, load_config
from agentgauge.core.errors import AgentGaugeError, DataProblem, ModelFault, UsageProblem
from agentgauge.core.text import counted
from agentgauge.core.types import RUN_TOKEN, Json, Scoring, Usage
from agentgauge.model.client import OpenAIModel
from agentgauge.model.presets import resolve
from agentgauge.sandbox import scratch_folder
from bench_gta.atomic.data import check_key
from bench_gta.workflow import data, prompts, run, tree
from bench_gta.workflow.judge import (
    RULES,
    USUAL,
    Delivery,
    Judge,
    ModelJudge,
    RulesJudge,
    identity_of,
    scored,
    shown_file,
)
from bench_gta.workflow.judgements import USER, open_judgements
from bench_gta.workflow.metrics import Thresholds, figures
from bench_gta.workflow.options import WorkflowOptions
from bench_gta.workflow.rendering import flatten
from bench_gta.workflow.score import detail, failed, run_result, score_output


class ManagedJudge:
    """A judge with a client of its own. ``close`` it in the event loop that used it."""

    def __init__(self, judge: Judge, model: OpenAIModel | None, votes: int = 1) -> None:
        self.judge = judge
        self._votes = votes
        self._model = model
        self._usage = Usage()

    def spent(self) -> Usage:
        """The judge's usage so far."""
        return self._usage

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()

    async def introduce(self) -> str:
        """What the endpoint calls its model, from one short request. Raises ModelFault."""
        return (await self.ask([{"role": "user", "content": "Reply with the word OK."}], 0)).model

    async def ask(self, messages: Sequence[Message], draw: int) -> ChatReply:
        """Raises ModelFault."""
        assert self._model is not None
        repeated = self._votes > 1 or draw > 0
        request = ChatRequest(messages=tuple(messages), usual=USUAL, seed=draw, repeated=repeated)
        try:
            reply = await self._model.complete(request)
        except ModelFault as fault:
            self._usage += fault.usage
            raise
        self._usage += reply.usage
        return reply


def make_judge(name: str, *, votes: int = 1, cache: str = USER, released: bool = True, config: Config) -> ManagedJudge:
    """``name``: ``rules`` or a model. ``cache``: see ``open_judgements``. ``released``: see ModelJudge. Raises
    UsageProblem for a model that is not known, or whose key is missing."""
    if name == RULES:
        return ManagedJudge(RulesJudge(), None)
    spec = resolve(name, url=None, config=config)
    if spec.embedded:
        instead = f"name {RULES!r} or a model of an endpoint"
        raise UsageProblem(f"the judge {name!r} is an embedded model, which only answers the cases of a run; {instead}")
    model = OpenAIModel(spec)
    made = ManagedJudge(RulesJudge(), model, votes)
    made.judge = ModelJudge(
        model.name,
        made.ask,
        template=prompts.load_template(config.prompts),
        identity=identity_of(model.fingerprint),
        introduce=made.introduce,
        votes=votes,
        released=released,
        judgements=open_judgements(cache),
    )
    return made


def score_files(
    samples: Path | None, predictions: Path, *, scoring: Scoring, similarity: str, options: WorkflowOptions
) -> Mapping[str, Any]:
    """See ``score_predictions``; the judge is that of the options. ``similarity`` changes nothing."""
    config, released = load_config(root=Path.cwd()), scoring == "parity"
    made = make_judge(options.judge, votes=options.votes, cache=options.cache, released=released, config=config)
    return score_predictions(samples, predictions, made, options.thresholds, strict=scoring == "strict")


def score_predictions(
    samples: Path | None, file: Path, made: ManagedJudge, thresholds: Thresholds, *, strict: bool
) -> Mapping[str, Any]:
    """Judge every record of a prediction file: ``metrics`` with the released ``gpt_score`` first, ``columns``,
    ``samples``, ``notes``.

    ``samples``: the data set, for the category columns; None leaves them without a value. Relative paths of delivered
    files start from the prediction file's folder, and only files below it are shown. A record that cannot be judged
    counts as a task that failed, and a note says why. Raises UsageProblem and DataProblem for files that cannot be used
    at all.
    """
    records = run.read_predictions(file)
    tasks = _tasks(samples, records)
    base = file.absolute().parent
    deliveries = [_delivery(record, base, everything=made.judge.everything) for record in records]
    judged = asyncio.run(_judge_all(made, deliveries))
    details, reported, values, notes = [], [], [], []
    for place, (record, task, leaves) in enumerate(zip(records, tasks, judged, strict=True)):
        name = str(record.get("task_id", place))
        try:
            if isinstance(leaves, AgentGaugeError):
                raise leaves
            result = scored(record["full_tree"], leaves, strict=strict)
            known = {"judge": made.judge.name, "everything": made.judge.everything, "leaves": leaves}
            score = score_output(task, {"prediction": [], **record, "judged": known}, thresholds, strict=strict)
        except AgentGaugeError as problem:
            notes.append(f"record {place} could not be judged and counts as failed: {problem}")
            values.append(failed(_with_tree(task, record["full_tree"])).values)
            reported.append({"id": name, "passed": False, "score": 0.0, "error": str(problem), "nodes": []})
            continue
        details.append(detail(place, result.root, result.verdicts))
        values.append(score.values)
        reported.append({"id": name, "passed": score.passed, "score": result.root.value, "nodes": details[-1]["nodes"]})
    columns = figures(values)
    for place, delivery in enumerate(deliveries):
        if lost := [Path(path).name[:100] for path in delivery.files if not _exists(path)]:
            notes.append(f"record {place} names files that are missing: {', '.join(lost)}")
    notes.append(f"judged by {made.judge.name}; thresholds: leaf {thresholds.leaf:g}, root {thresholds.root:g}")
    return {
        "metrics": {"gpt_score": run_result(details)["gpt_score"], **columns},
        "columns": columns,
        "samples": reported,
        "notes": notes,
    }


async def _judge_all(made: ManagedJudge, deliveries: Sequence[Delivery]) -> list[list[Json] | AgentGaugeError]:
    """One after the other, as upstream. What is paid for is in the cache, where a second call finds it."""
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
            if isinstance(problem, UsageProblem) and not isinstance(problem, DataProblem):
                raise  # a missing key, say, fails every record
            return problem


def _delivery(record: Mapping[str, Json], base: Path, *, everything: bool) -> Delivery:
    named = record["delivered"] if everything and "delivered" in record else record.get("attached_files")
    listed = [str(base / path) for path in flatten(named)]
    for path in listed:
        if _exists(path) and shown_file(path, [str(base)]) is None:
            copy = "copy the files below the prediction file's folder"
            raise UsageProblem(f"the delivered file {path[:200]} is not a plain file below {base}; {copy}")
    return Delivery(
        record["origin_prompt"], record["assistant_outputs"], tuple(listed), record["full_tree"], {str(base): RUN_TOKEN}
    )


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or with a NUL: the released discovery takes whole sentences for paths
        return False


def _with_tree(task: Mapping[str, Json], stored: Json) -> Mapping[str, Json]:
    """The entry with a tree whose leaves can be counted; one that cannot be read is one leaf."""
    try:
        tree.parse(stored)
    except DataProblem:
        stored = []
    return {**task, "sub_tasks": stored}


def _tasks(samples: Path | None, records: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """The data set's entry of each record: by ``task_id`` where it has one, else by position."""
    if samples is None:
        return [{}] * len(records)
    file = samples if samples.is_file() else samples / data.DATASET
    entries = {entry.key: check_key(file, entry) for entry in data.entries(file)}
    keys = list(entries)
    if len(records) > len(keys):
        count = f"{counted(len(records), 'prediction')}, but {file} has {counted(len(keys), 'task')}"
        raise UsageProblem(f"there are {count}; give the data set that they are of")
    return [entries.get(str(record.get("task_id", keys[place])), {}) for place, record in enumerate(records)]
