"""The twenty tasks of Apple MMAU."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.registry import families
from agentgauge.agent.framing import framing_note
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.index import Index, Row
from agentgauge.core.presentation import CombinedScores, Presentation
from agentgauge.core.published import Published
from agentgauge.core.task import DataSource, Pictures, PredictionFiles, Prompts, Task
from agentgauge.core.task_options import SAME, Chosen, TaskOption
from agentgauge.core.text import counted
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_mmau import data, oracle, prompts, run, score
from bench_mmau.data import RecordKind
from bench_mmau.metrics import (
    CITATION,
    CONTESTS,
    DOMAINS,
    KINDS,
    MATH,
    NOTEBOOKS,
    PARSING,
    PLANS,
    RETRY,
    TOOLS,
    TableColumn,
    combined,
    formula,
    leaderboards,
    skills_of,
)
from bench_mmau.run import JUDGE, PLANNER, QA, SOLVER, Output, response_records

_HERE = Path(__file__).parent

Judge = Callable[[Mapping[str, Any], Output, Scoring], Score]
"""``(record, output, scoring)``"""

JUDGES = TaskOption(
    JUDGE,
    "Apple MMAU: model that judges mathematics; oracle compares the answer with the right one, as text or number"
    " (default: oracle)",
    default="oracle",
    model=True,
    requests=1,
)
SOLVERS = TaskOption(
    SOLVER,
    "Apple MMAU: model that carries out the plans of the tested model (default: same, the tested model)",
    default=SAME,
    model=True,
)
PLANNERS = TaskOption(
    PLANNER,
    "Apple MMAU: model that writes the plans for the tested model (default: same, the tested model)",
    default=SAME,
    model=True,
)
QAS = TaskOption(
    QA,
    "Apple MMAU: model that answers questions on notebooks in ds_codegen (default: same, the tested model)",
    default=SAME,
    model=True,
)


class MmauData(DataSource):
    """The file, or files, of one kind of records."""

    name = "mmau"
    bundled = _HERE / "mini"

    def __init__(self, kind: RecordKind, skills: tuple[str, ...]) -> None:
        self.kind = kind
        self.skills = skills  # keywords of the whole task: capabilities, and what the tested model does
        self.files = (f"{kind.shown}_*.jsonl",)

    def is_in(self, root: Path) -> bool:
        return data.find(root, self.kind) is not None

    def index(self, root: Path) -> Index:
        return data.index(root, self.kind, self.skills)

    def differences(self, root: Path) -> Sequence[str]:
        return [*super().differences(root), *data.strangers(root)]

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task)

    def labels_of(self, row: Row) -> Sequence[str]:
        """The area of a problem in mathematics, then its subject (``algebra__linear_1d``); whether a notebook asks
        about a picture. Other records have none."""
        own = row.tags[len(self.kind.keywords) + len(self.skills) :]
        return tuple(dict.fromkeys(label for tag in own for label in (tag.partition("__")[0], tag)))


def _task(
    name: str,
    title: str,
    kind: RecordKind,
    skills: tuple[str, ...],
    *,
    columns: Sequence[TableColumn],
    passes: str = "",
    runs: Callable[..., Coroutine[Any, Any, Output]],
    judge: Judge,
    gold: Callable[[Mapping[str, Any], ChatRequest], ChatReply],
    dialects: tuple[str, ...] = ("native",),
    options: tuple[TaskOption, ...] = (),
    texts: tuple[str, ...] = (),
    requests: float = 1.0,
    one_request: bool = False,
    pictures: Pictures | None = None,
) -> Task:
    """One of the twenty tasks. ``one_request``: ``runs`` sends one request to the tested model, so that an agent
    program, its second argument, can answer in its place."""
    shown = tuple(title for title, _, _ in columns)
    return Task(
        name=f"mmau.{name}",
        data=MmauData(kind, skills),
        run=runs,
        score=partial(_score, judge),
        metrics=lambda scoring: formula(columns),
        dialects=dialects,
        runs_code=name.startswith(("ds_", "contest_")) and name not in ("ds_oracle", "contest_parsing"),
        # contests run their programs again; notebooks ran while the case did
        scores_in_thread=columns in (CONTESTS, RETRY),
        expected_requests=requests,
        options=options,
        presentation=Presentation(
            benchmark="Apple MMAU",
            title=title,
            columns=shown,
            counts=frozenset(title for title, _, below in columns if below is None),
            published=shown[:1],
            leaderboard_columns={shown[0]: name},
            skills=skills_of(name),
            citation=CITATION,
            severity="critical" if any(name in weights for weights in DOMAINS.values()) else "normal",
            kinds=KINDS,
            passes=passes,
            doubts=partial(_doubts, f"mmau.{name}"),
        ),
        published=Published(
            dialects=("native",),
            leaderboards=partial(leaderboards, _HERE / "reference" / "mmau.json"),
            not_comparable=partial(_not_comparable, options),
        ),
        combined=CombinedScores(_combine, headline="Accuracy"),
        prompts=Prompts(partial(prompts.version, used=texts), partial(_judge_note, prompts.JUDGE in texts)),
        files=PredictionFiles(
            partial(_score_files, f"mmau.{name}", judge, columns),
            {"mmau": partial(_export, name)},
            samples_needed=False,
        ),
        oracle=partial(_gold_reply, gold),
        pictures=pictures,
        agents=runs if one_request else None,
    )


def _score(judge: Judge, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
    return judge(sample.payload, dict(score.FAILED) if output is None else output, scoring)


def _gold_reply(
    gold: Callable[[Mapping[str, Any], ChatRequest], ChatReply],
    sample: Sample,
    request: ChatRequest,
    *,
    one_call: bool = False,
) -> ChatReply:
    reply = gold(sample.payload, request)
    return replace(reply, tool_calls=reply.tool_calls[:1]) if one_call else reply


def _judge_note(is_judged: bool, version: str, chosen: Chosen) -> str:
    return framing_note(version) if is_judged and chosen[JUDGE] != "oracle" else ""


def _score_files(
    task: str,
    judge: Judge,
    columns: Sequence[TableColumn],
    samples: Path,
    predictions: Path,
    *,
    scoring: Scoring,
    similarity: str,
) -> Mapping[str, Any]:
    from bench_mmau.files import score_file

    return score_file(task, predictions, judge, columns, scoring)


def _export(
    name: str, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{model.replace('/', '_')}_{name}_response.jsonl"
    lines = (json.dumps(response_records(sample.payload, output), ensure_ascii=False) for sample, output, _ in results)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return []


def _not_comparable(options: Sequence[TaskOption], chosen: Chosen) -> Sequence[str]:
    return [
        f"{option.name.removeprefix('--mmau-')} {chosen[option.name]}"
        for option in options
        if chosen[option.name] in (SAME, "oracle")
    ]


def _doubts(task: str, part: Mapping[str, Any]) -> Sequence[str]:
    invalid = part["metrics"].get("Invalid Judgments", {}).get("value") or 0.0
    found = []
    if invalid:
        judged = part["metrics"]["Valid Answers"]["value"]
        lacking = "are neither correct nor wrong, and say nothing about the agent"
        found.append(f"{task}: {invalid:g} of {judged:g} replies of the judge {lacking}")
    if silent := part["causes"].get("judge silent", 0):
        found.append(f"{task}: {silent} of {counted(part['planned'], 'case')} have no verdict: the judge sent no text")
    return found


def _combine(scores: Mapping[str, float | None]) -> dict[str, dict[str, dict[str, Any]]]:
    return combined({name.removeprefix("mmau."): score for name, score in scores.items()})


def _notebook_pictures(role: str = "") -> Pictures:
    """The output of a notebook may have pictures; ``role`` answers the questions about it."""
    return Pictures(lambda tags: role if "image" in tags else None, frozenset({"Text"}))


# Expected requests of a case follow from what it asks: a program is written five times, a notebook is written and then
# asked about, an answer in mathematics is judged.
_one = partial(_task, one_request=True)
_tool = partial(
    _one,
    columns=TOOLS,
    passes="the reply has the expected calls with the expected arguments, or exactly the expected text",
    runs=run.direct,
    judge=score.tools,
    gold=oracle.tool_call,
    dialects=("native", "react", *families()),
)
_dag = partial(
    _one,
    columns=PLANS,
    passes="the reply names the right plan; its reasons are not judged",
    runs=run.direct,
    judge=score.plans,
    gold=oracle.plan_choice,
)
_ds = partial(_task, columns=NOTEBOOKS, judge=score.notebook, requests=2, pictures=_notebook_pictures())
_contest = partial(
    _task,
    columns=CONTESTS,
    runs=run.contest,
    judge=score.contest,
    gold=oracle.program,
    requests=run.SAMPLES,
)
_EQUAL = "the judge finds the answer equal to the reference; the way to it is not judged"
_math = partial(
    _one,
    columns=MATH,
    passes=_EQUAL,
    judge=score.mathematics,
    gold=oracle.mathematics,
    runs=run.math,
    options=(JUDGES,),
    texts=(prompts.JUDGE,),
    requests=2,
)
_shifted = partial(_task, columns=MATH, passes=_EQUAL, judge=score.mathematics, gold=oracle.mathematics, requests=3)

_UNDERSTANDING, _REASONING, _PLANNING = "understanding", "reasoning", "planning"
_SOLVING, _CORRECTION = "problem_solving", "self_correction"
_PLANNER, _SOLVER = "planner_shift", "solver_shift"  # what the tested model does, the rest is another's

TASKS: tuple[Task, ...] = (
    _tool("tool_single", "single-step tool use", data.SINGLE, (_SOLVING,)),
    _tool("tool_parallel", "parallel tool use", data.PARALLEL, (_SOLVING,)),
    _tool("tool_double", "tool use, two steps", data.DOUBLE, (_SOLVING,)),
    _tool("tool_triple", "tool use, three steps", data.TRIPLE, (_SOLVING,)),
    _tool("tool_self_correct", "tool use, self-correction", data.SELF_CORRECT, (_CORRECTION,)),
    _dag("dag_reasoning", "plan choice with reasoning", data.REASONING, (_REASONING,)),
    _dag("dag_planning", "plan choice without reasoning", data.NO_REASONING, (_PLANNING,)),
    _ds("ds_e2e", "notebooks end to end", data.ORACLE, (), runs=run.notebook, gold=oracle.cells_then_answers),
    _ds(
        "ds_codegen",
        "notebooks, code generation",
        data.ORACLE,
        (_SOLVING,),
        runs=partial(run.notebook, role=QA),
        gold=oracle.cells_then_answers,
        options=(QAS,),
        pictures=_notebook_pictures(QA),
    ),
    _ds(
        "ds_oracle",
        "notebooks, questions on given output",
        data.ORACLE,
        (_UNDERSTANDING,),
        runs=run.notebook_oracle,
        judge=partial(score.notebook, writes=False),
        gold=oracle.answers,
        requests=1,
    ),
    _ds(
        "ds_retry",
        "notebooks, self-correction",
        data.ORACLE,
        (_CORRECTION,),
        runs=partial(run.notebook, again=True),
        gold=oracle.cells_then_answers,
        requests=3,
    ),
    _contest("contest_standard", "contests", data.CONTESTS, ()),
    _one(
        "contest_parsing",
        "contests, problem parsing",
        data.CONTEST_PARSING,
        (_UNDERSTANDING,),
        columns=PARSING,
        passes="the reply states the expected output; its reasons are not judged",
        runs=run.direct,
        judge=score.contest_parsing,
        gold=oracle.parsed_output,
    ),
    _contest(
        "contest_planner",
        "contests, planner-shift",
        data.CONTEST_PLANS,
        (_REASONING, _PLANNING, _PLANNER),
        runs=run.contest_planner,
        gold=oracle.plan_then_program,
        options=(SOLVERS,),
        texts=("contest_solver",),
        requests=1 + run.SAMPLES,
    ),
    _contest("contest_solver", "contests, solver-shift", data.CONTEST_SOLUTIONS, (_SOLVING, _SOLVER)),
    _contest(
        "contest_retry",
        "contests, self-correction",
        data.CONTESTS,
        (_CORRECTION,),
        columns=RETRY,
        runs=run.contest_retry,
        judge=score.contest_retry,
        requests=9.6,  # the published models solve 8 % of the problems at first
    ),
    _math("math_standard", "mathematics", data.MATH, ()),
    _math("math_comprehend", "mathematics, Comprehend+", data.MATH_COMPREHEND, (_UNDERSTANDING,)),
    _shifted(
        "math_planner",
        "mathematics, planner-shift",
        data.MATH,
        (_REASONING, _PLANNING, _PLANNER),
        runs=run.math_planner,
        options=(JUDGES, SOLVERS),
        texts=("math_plan", "math_solve", prompts.JUDGE),
    ),
    _shifted(
        "math_solver",
        "mathematics, solver-shift",
        data.MATH,
        (_SOLVING, _SOLVER),
        runs=run.math_solver,
        options=(JUDGES, PLANNERS),
        texts=("math_plan", "math_solve", prompts.JUDGE),
    ),
)
