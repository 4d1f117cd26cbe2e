"""Lets an agent do one task with the whole tool set, and lets a judge score the deliverables
(docs/benchmarks/gta_workflow.md#runs and docs/benchmarks/gta_workflow.md#judge). The output is a record of the released
prediction file (docs/benchmarks/gta_workflow.md#prediction-file), with ``delivered``, the files that were really made,
and ``judged``, the judge's replies, beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from agentgauge.core.agents import Agent
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import encoded, write_whole
from agentgauge.core.index import object_entries
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.tools import Tool
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json, Sample, Scoring
from agentgauge.store.folder import sample_name
from bench_gta.atomic.data import user_turns
from bench_gta.atomic.prompts import load_prompts
from bench_gta.atomic.run import answered
from bench_gta.workflow import data
from bench_gta.workflow.judge import RULES, USUAL, Delivery, Judge, ModelJudge, RulesJudge, identity_of
from bench_gta.workflow.judgements import Judgements
from bench_gta.workflow.options import JUDGE, WorkflowOptions
from bench_gta.workflow.prompts import load_template
from bench_gta.workflow.trace import attached_files, compress, until_error


def offered(known: Mapping[str, Tool], served: Mapping[str, Tool]) -> dict[str, Tool]:
    """The data set's tools as the server describes them; a tool that only one of the two knows stays as it is there."""
    return {name: served.get(name, tool) for name, tool in known.items()}


async def run_workflow(
    case: Case, agent: Agent | None = None, *, options: WorkflowOptions, judgements: Judgements
) -> Json:
    """Run the task, or continue with its deliverables if only the judge failed before, and judge them. Raises Fault."""
    data.require_files(case.sample)
    judge = _judge_of(case, options, judgements)
    if case.checkpoint_output is None:
        prompts, loaded = load_prompts(case.settings.prompts), data.resolve(case.sample)
        tools = offered(data.read_tools(case.sample.root), await case.catalog())
        asked = [question for question, _ in user_turns(loaded.dialogs)]
        turns = await answered(case, prompts, asked, loaded.files, tools, usual=options.usual, agent=agent)
        turns = list(takewhile(bool, turns))  # an agent that has answered earlier got none of the others
        entry = record(loaded.dialogs, turns, loaded.full_tree, task_id=case.sample.id)
        entry["delivered"] = attached_files(turns, extended=True, folder=case.folder)
        if agent:  # as the released packs of agent apps: its own tools are not in the trace, which names no files then
            entry["attached_files"] = entry["delivered"]
        case.checkpoint(entry)
    output = case.checkpoint_output
    assert output is not None
    scratch = case.folder.with_name(f"{case.folder.name}.judge")
    delivery = Delivery(
        origin_prompt=output["origin_prompt"],
        trace=output["assistant_outputs"],
        files=tuple(output["delivered" if judge.everything else "attached_files"]),
        tree=output["full_tree"],
        tokens={str(case.folder): RUN_TOKEN, str(case.sample.root): ROOT_TOKEN},
    )
    try:
        leaves = await judge.judge(delivery, scratch=scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return {**output, "judged": {"judge": judge.name, "everything": judge.everything, "leaves": leaves}}


def _judge_of(case: Case, options: WorkflowOptions, judgements: Judgements) -> Judge:
    if options.judge == RULES:
        return RulesJudge()

    async def ask(messages: Sequence[Message], draw: int) -> ChatReply:
        repeated = draw if draw or options.votes > 1 else None
        return await case.ask(messages, role=JUDGE.name, usual=USUAL, draw=repeated)

    return ModelJudge(
        case.name_of(JUDGE.name),
        ask,
        template=load_template(case.settings.prompts),
        identity=identity_of(case.fingerprint_of(JUDGE.name)),
        reported=case.reported_of(JUDGE.name),
        votes=options.votes,
        released=case.settings.scoring == "parity",
        judgements=judgements if case.settings.live else None,
    )


def record(
    dialogs: Sequence[Mapping[str, Json]],
    turns: Sequence[Sequence[Json]],
    full_tree: Json,
    *,
    task_id: str | None = None,
) -> Json:
    """One task's record; None where the dialogs have no user turn.

    ``turns``: the recorded steps, a list per user turn; those after a turn that begins with an error step are left out.
    ``task_id`` is ours: upstream's keys are positions only.
    A turn that compresses to nothing adds no entry to ``assistant_outputs``. Raises DataProblem for a damaged step.
    """
    turns = until_error(turns)
    asked = list(zip(user_turns(dialogs), turns, strict=False))  # what was not run is not in the record
    if not asked:
        return None
    outputs = [compress(turn) for turn in turns]
    return {
        **({} if task_id is None else {"task_id": task_id}),
        "gold": [answers for (_, answers), _ in asked],
        "prediction": [list(turn) for turn in turns],
        "origin_prompt": [question for (question, _), _ in asked],
        "steps": [],
        "full_tree": full_tree,
        "attached_files": attached_files(turns),
        "assistant_outputs": [output for output in outputs if output],
    }


def export(results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring) -> list[str]:
    """Write a run as one prediction file; what was delivered lies beside it, and is named by relative paths."""
    records = []
    for sample, output, made in results:
        place = f"files/{sample_name(sample.id)}"
        if made.is_dir():
            shutil.copytree(made, folder / place, symlinks=True)
        records.append(with_placeholders(output, {str(made): place}))
    folder.mkdir(parents=True, exist_ok=True)
    write_predictions(folder / f"{model.replace('/', '_')}_gta_workflow.json", records)
    return []


def write_predictions(path: Path, records: Sequence[Mapping[str, Json]]) -> None:
    """Write a prediction file: one object, keys "0", "1" ... in the order given. Raises UsageProblem."""
    try:
        write_whole(path, encoded({str(place): entry for place, entry in enumerate(records)}, indent=4) + b"\n")
    except OSError as error:
        check = "check the folder and its permissions"
        raise UsageProblem(f"{path} cannot be written: {error.strerror or error}; {check}") from None


def read_predictions(path: Path) -> list[Mapping[str, Json]]:
    """The records of a prediction file, upstream's or ours, in the order of their keys.

    Raises DataProblem for a file that is missing or damaged, a key that is no whole number, and a record that lacks
    what is judged: ``full_tree``, ``origin_prompt`` and ``assistant_outputs``.
    """
    found: dict[int, Mapping[str, Json]] = {}
    for entry in object_entries(path):
        if not (entry.key.isascii() and entry.key.isdigit() and len(entry.key) < 10):
            accepted = "must be a position such as '0'; is this a prediction file?"
            raise DataProblem(f"{path}: the key {entry.key!r} {accepted}")
        place = int(entry.key)
        if place in found:
            raise DataProblem(f"{path}: the position {place} occurs twice; get the file again")
        found[place] = _checked(path, entry.key, entry.value)
    return [found[place] for place in sorted(found)]


def _checked(path: Path, key: str, entry: Json) -> Mapping[str, Json]:
    where = f"{path}: record {key!r}"
    if not isinstance(entry, Mapping):
        raise DataProblem(f"{where}: must be an object, not {type(entry).__name__}")
    for field in ("full_tree", "assistant_outputs", "origin_prompt"):
        if field not in entry:
            needed = "a prediction file of GTA-Workflow's end-to-end runs is needed"
            raise DataProblem(f"{where}: has no {field!r}; {needed}")
    for field in ("gold", "prediction", "assistant_outputs"):
        turns = entry.get(field, [])
        if not isinstance(turns, list):
            raise DataProblem(f"{where}, {field}: must be a list with one entry per user turn")
        if any(not isinstance(turn, list) for turn in turns):
            raise DataProblem(f"{where}, {field}: must be a list with one list per user turn")
    delivered = entry.get("delivered", [])
    if not isinstance(delivered, str | list) or any(not isinstance(path, str) for path in delivered):
        raise DataProblem(f"{where}, delivered: must be a list of paths, or one path as a string")
    if not isinstance(entry["origin_prompt"], str | list):
        raise DataProblem(f"{where}, origin_prompt: must be a list of strings or one string")
    if not isinstance(entry.get("attached_files"), list | str | None):
        raise DataProblem(f"{where}, attached_files: must be a list of paths, or one path as a string")
    return entry
