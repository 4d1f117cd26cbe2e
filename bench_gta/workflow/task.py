"""The task of GTA-Workflow: long open-ended tasks with the whole tool set, judged on what the agent delivers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from agentgauge.agent.dialects.registry import families
from agentgauge.agent.framing import framing_note
from agentgauge.core.presentation import Presentation
from agentgauge.core.published import Published
from agentgauge.core.task import PredictionFiles, Prompts, Task
from agentgauge.core.task_options import Chosen
from bench_gta.atomic.prompts import load_prompts
from bench_gta.tools import GtaTools
from bench_gta.workflow import prompts
from bench_gta.workflow.data import offered_tools
from bench_gta.workflow.judge import RULES
from bench_gta.workflow.judgements import Judgements, open_judgements
from bench_gta.workflow.metrics import COLUMNS, COUNTS, FALLBACKS, PUBLISHED, formula, leaderboards
from bench_gta.workflow.options import JUDGE, OPTIONS, WorkflowOptions, not_comparable
from bench_gta.workflow.oracle import answer
from bench_gta.workflow.presentation import CITATION, KINDS, SKILLS, TITLE, artifacts, category, doubts, notes
from bench_gta.workflow.run import export, run_workflow
from bench_gta.workflow.score import score_sample
from bench_gta.workflow.score_files import score_files
from bench_gta.workflow.source import WorkflowData, require_conditions

DATA = WorkflowData()
TOOLS = GtaTools(offered_tools)


def workflow(options: WorkflowOptions, judgements: Judgements) -> Task:
    """``judgements``: where a judge model's replies are kept."""
    run = partial(run_workflow, options=options, judgements=judgements)
    return Task(
        name="gta_workflow",
        data=DATA,
        run=run,
        agents=run,
        score=partial(score_sample, thresholds=options.thresholds),
        metrics=partial(formula, thresholds=options.thresholds),
        tools=TOOLS,
        dialects=("native", "react", *families()),
        expected_requests=13.2,  # 4.4 gold steps of a bundled task, and a request to the judge for each leaf
        options=OPTIONS,
        configured=configured,
        check_options=require_conditions if options.judge == RULES else None,
        presentation=Presentation(
            benchmark="GTA-Workflow",
            title=TITLE,
            columns=COLUMNS,
            counts=frozenset({*COUNTS, FALLBACKS}),
            published=PUBLISHED,
            headline="Root SR",
            skills=SKILLS,
            citation=CITATION,
            severity="critical",
            kinds=KINDS,
            notes=notes,
            doubts=doubts,
            artifacts=partial(artifacts, thresholds=options.thresholds),
            category=category,
        ),
        published=Published(
            dialects=("react",),
            leaderboards=leaderboards,
            not_comparable=partial(not_comparable, votes=options.votes),
        ),
        prompts=Prompts(version=prompt_version, note=prompt_note),
        files=PredictionFiles(
            score=partial(score_files, options=options), exporters={"gta_workflow": export}, samples_needed=False
        ),
        oracle=answer,
    )


def configured(chosen: Chosen) -> Task:
    """Raises UsageProblem for values that cannot be used."""
    options = WorkflowOptions.of(chosen)
    return workflow(options, open_judgements(options.cache))


def prompt_version(folder: Path | None) -> str:
    """Of the texts for the agent and of those for the judge."""
    return f"{load_prompts(folder).version}-{prompts.version(prompts.load_template(folder))}"


def prompt_note(version: str, chosen: Chosen) -> str:
    return framing_note(version) if chosen[JUDGE.name] != RULES else ""


WORKFLOW = workflow(WorkflowOptions(), Judgements(None))
