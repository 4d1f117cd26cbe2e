"""Lets an agent do one task with the whole tool set, and lets a judge score the deliverables (GTA-Workflow spec 2 and
3).

The output is a record of the released prediction file, with ``delivered``, the files that were really made, and
``judged``, the judge's replies, beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from agentgauge.core.capabilities import Agent
from agentgauge.core.case import Case
from agentgauge.core.chat import Sampling
from agentgauge.core.tools import Tool
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json
from bench_gta.atomic.data import user_turns
from bench_gta.atomic.prompts import load_prompts
from bench_gta.atomic.run import answered
from bench_gta.workflow import data
from bench_gta.workflow.discovery import attached_files
from bench_gta.workflow.judging.judge import Delivery, Judge
from bench_gta.workflow.predictions import record

OURS = Sampling(max_tokens=4096)
PAPER = Sampling(temperature=0.7, max_tokens=512)
"""The released wrapper's defaults, which truncate long tool calls (GTA-Workflow spec 2.1)."""


def offered(known: Mapping[str, Tool], served: Mapping[str, Tool]) -> dict[str, Tool]:
    """The data set's tools as the server describes them; a tool that only one of the two knows stays as it is there."""
    return {name: served.get(name, tool) for name, tool in known.items()}


async def run_workflow(case: Case, judge: Judge, usual: Sampling, agent: Agent | None = None) -> Json:
    """Run the task, or continue with its deliverables if only the judge failed before, and judge them. Raises Fault."""
    if case.checkpoint_output is None:
        prompts, loaded = load_prompts(case.settings.prompts), data.resolve(case.sample)
        tools = offered(data.read_tools(case.sample.root), await case.catalog())
        asked = [question for question, _ in user_turns(loaded.dialogs)]
        turns = await answered(case, prompts, asked, loaded.files, tools, usual=usual, agent=agent)
        entry = record(loaded.dialogs, turns, loaded.full_tree, task_id=case.sample.id)
        case.checkpoint({**entry, "delivered": attached_files(turns, extended=True, folder=case.folder)})
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
