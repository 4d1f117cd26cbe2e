"""The two tasks of GTA-Atomic: step by step and end to end."""

from __future__ import annotations

from functools import partial

from agentgauge.agent.dialects.registry import families
from agentgauge.core.presentation import Presentation, kinds
from agentgauge.core.published import Published
from agentgauge.core.task import PredictionFiles, Prompts, Task
from bench_gta.atomic.data import AtomicData, categories_of, offered_tools
from bench_gta.atomic.files import export, score_files
from bench_gta.atomic.metrics import (
    E2E_COLUMNS,
    STEP_COLUMNS,
    e2e_formula,
    e2e_metrics,
    leaderboards,
    step_formula,
    step_metrics,
)
from bench_gta.atomic.oracle import answer_e2e, answer_step
from bench_gta.atomic.prompts import load_prompts
from bench_gta.atomic.run import run_e2e, run_step
from bench_gta.atomic.score import broken_e2e, broken_step, score_e2e, score_sample, score_step
from bench_gta.similarity import TextSimilarity
from bench_gta.tools import GtaTools

CITATION = """\
@inproceedings{wang2024gta,
  title = {{GTA}: A Benchmark for General Tool Agents},
  author = {Wang, Jize and Ma, Zerun and Li, Yining and Zhang, Songyang and Chen, Cailian and Chen, Kai and Le, Xinyi},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2024},
  eprint = {2407.08713},
  archivePrefix = {arXiv},
}"""

# What both modes share.
DATA = AtomicData()
DIALECTS = ("native", "react", *families())
PROMPTS = Prompts(version=lambda folder: load_prompts(folder).version)
SIMILARITY = TextSimilarity()
PUBLISHED = Published(dialects=("react",), leaderboards=leaderboards)
_presentation = partial(
    Presentation,
    benchmark="GTA-Atomic",
    category=categories_of,
    counts=frozenset({"ToolCalls", "ToolErrors"}),
    citation=CITATION,
    kinds=kinds(
        wrong_tool="invalid_action",
        wrong_argument="argument_error, wrong_drawing",
        missing_call="missing_tool, missing_drawing",
        stopped_early="no_answer, no_action",
        format="unreadable_call, invalid_json",
        judge="similarity server, similarity timeout",
        data="missing file",
    ),
)

STEP = Task(
    name="gta_atomic.step",
    data=DATA,
    run=run_step,
    score=partial(score_sample, entry=score_step, broken=broken_step),
    metrics=step_formula,
    dialects=DIALECTS,
    expected_requests=3.2,  # 729 predicted turns of 229 queries
    presentation=_presentation(
        title="step by step",
        columns=tuple(STEP_COLUMNS.values()),
        published=("InstAcc", "ToolAcc", "ArgAcc", "SummAcc"),
        skills={"tool use": ()},
        passes="every step calls the expected tool with the expected arguments, and the answer matches the reference",
    ),
    published=PUBLISHED,
    prompts=PROMPTS,
    similarity=SIMILARITY,
    files=PredictionFiles(
        score=partial(score_files, entry=score_step, metrics=step_metrics, columns=STEP_COLUMNS),
        exporters={"gta_atomic": partial(export, mode="step")},
    ),
    oracle=answer_step,
)
"""Each assistant turn is predicted from the gold turns before it."""

E2E = Task(
    name="gta_atomic.e2e",
    data=DATA,
    run=run_e2e,
    agents=run_e2e,
    score=partial(score_sample, entry=score_e2e, broken=broken_e2e),
    metrics=e2e_formula,
    tools=GtaTools(offered_tools),
    dialects=DIALECTS,
    expected_requests=3.4,  # 557 tool calls of 229 queries, and an answer to each
    presentation=_presentation(
        title="end to end",
        columns=tuple(E2E_COLUMNS.values()),
        published=("P", "O", "L", "C", "AnsAcc", "AnsAcc+I"),
        headline="AnsAcc",
        passes=(
            "the answer matches the reference, or the drawings match those of the gold where there is none; the calls"
            " before it do not decide"
        ),
        severity="critical",
        skills={
            "reasoning": ("logic",),
            "problem solving": (),
            "perception": ("perception",),
            "delivery": ("image_generation",),
        },
    ),
    published=PUBLISHED,
    prompts=PROMPTS,
    similarity=SIMILARITY,
    files=PredictionFiles(
        score=partial(score_files, entry=score_e2e, metrics=e2e_metrics, columns=E2E_COLUMNS),
        exporters={"gta_atomic": partial(export, mode="e2e")},
    ),
    oracle=answer_e2e,
)
"""The model works on its own, with real tools."""
