"""The twenty tasks of Apple MMAU."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from agentgauge.core.capabilities.own_options import SAME, Chosen, TaskOption
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.estimate import Recipe
from agentgauge.core.index import Index, Row
from agentgauge.core.task import Task
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_mmau import average, data, judging, oracle, prompts, run, tables
from bench_mmau.data import Kind
from bench_mmau.run import JUDGE, PLANNER, QA, SOLVER, Output, response_records

_HERE = Path(__file__).parent

JUDGES = TaskOption(
    JUDGE,
    "Apple MMAU: model that judges mathematics; oracle compares with the true answer as text or number (default:"
    " oracle)",
    default="oracle",
    model=True,
)
SOLVERS = TaskOption(
    SOLVER, "Apple MMAU: model that solves what the tested one planned (default: same)", default=SAME, model=True
)
PLANNERS = TaskOption(
    PLANNER, "Apple MMAU: model that plans for the tested one to solve (default: same)", default=SAME, model=True
)
QAS = TaskOption(
    QA, "Apple MMAU: model that answers questions on notebooks in ds_codegen (default: same)", default=SAME, model=True
)


class _Mmau(Task):
    """What all share."""

    benchmark = "Apple MMAU"
    data_set = "mmau"
    mini = _HERE / "mini"
    published_dialect = "native"
    dialects = ("native",)
    exported_as = "mmau"
    samples_needed = False

    kind: ClassVar[Kind]
    skills: ClassVar[tuple[str, ...]] = ()  # capabilities, as keywords
    rule: ClassVar[Sequence[tables.Column]]

    def find(self, folder: Path) -> Path | None:
        """The folder with this task's file: the first of ``places`` that has it."""
        return next((root for root in self.places(folder) if data.find(root, self.kind)), None)

    def index(self, root: Path) -> Index:
        return data.index(root, self.kind, self.skills)

    def differences(self, root: Path) -> Sequence[str]:
        return [*super().differences(root), *data.strangers(root)]

    def load(self, index: Index, row: Row) -> Sample:
        return data.load(index, row, self.name)

    @abstractmethod
    def judge(self, record: Mapping[str, Any], output: Output, scoring: Scoring) -> Score:
        """Score an output."""

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        return self.judge(sample.payload, dict(judging.FAILED) if output is None else output, scoring)

    def scores_slowly(self, similarity: str) -> bool:
        """Contests run their programs again; notebooks ran while the case did."""
        return self.rule in (tables.CONTESTS, tables.RETRY)

    def recipe(self, scoring: Scoring) -> Recipe:
        return tables.recipe(self.rule)

    def story(self, tags: Sequence[str]) -> str:
        return self.title

    def prompt_version(self, folder: Path | None) -> str:
        return prompts.version(folder)

    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        from bench_mmau.files import score_file

        return score_file(self.name, predictions, self.judge, self.rule, scoring)

    def export(
        self, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
    ) -> list[str]:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{model.replace('/', '_')}_{self.name.removeprefix('mmau.')}_response.jsonl"
        lines = (
            json.dumps(response_records(sample.payload, output), ensure_ascii=False) for sample, output, _ in results
        )
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return []

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        return [
            f"{name.removeprefix('--mmau-')} {chosen[name]}"
            for name in self._parts()
            if chosen[name] in (SAME, "oracle")
        ]

    def _parts(self) -> list[str]:
        return [option.name for option in self.options]

    def combine(self, scores: Mapping[str, float | None]) -> dict[str, Any]:
        return average.combined({name.removeprefix("mmau."): score for name, score in scores.items()})

    def reference_rows(self) -> list[Mapping[str, Any]]:
        return list(average.reference_rows(self.name.removeprefix("mmau."), _HERE / "reference" / "mmau.json"))


def _columns(rule: Sequence[tables.Column]) -> dict[str, Any]:
    return {
        "rule": rule,
        "columns": tables.titles(rule),
        "counts": tables.counts(rule),
        "published": tables.titles(rule)[:1],
    }


Ask = Callable[[Mapping[str, Any], ChatRequest], ChatReply]
Run = Callable[[Case], Coroutine[Any, Any, Output]]


def _task(
    name: str,
    title: str,
    kind: Kind,
    skills: tuple[str, ...],
    *,
    rule: Sequence[tables.Column],
    runs: Run,
    judge: Callable[[Mapping[str, Any], Output, Scoring], Score],
    gold: Ask,
    options: tuple[TaskOption, ...] = (),
) -> Task:
    """A task from its parts: the twenty differ in nothing else."""

    class Made(_Mmau):
        async def run(self, case: Case) -> Json:
            return await runs(case)

        def judge(self, record: Mapping[str, Any], output: Output, scoring: Scoring) -> Score:
            return judge(record, output, scoring)

        def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
            return gold(sample.payload, request)

    made = {
        "title": title,
        "kind": kind,
        "skills": skills,
        "options": options,
        "data_files": (f"{kind.shown}_*.jsonl",),
    }
    made["runs_code"] = name.startswith(("ds_", "contest_")) and name not in ("ds_oracle", "contest_parsing")
    board = {tables.titles(rule)[0]: name}
    for field, value in {"name": f"mmau.{name}", "board": board, **made, **_columns(rule)}.items():
        setattr(Made, field, value)
    return Made()


_tool = partial(_task, rule=tables.TOOLS, runs=run.direct, judge=judging.tools, gold=oracle.tool_call)
_dag = partial(_task, rule=tables.PLANS, runs=run.direct, judge=judging.plans, gold=oracle.plan_choice)
_ds = partial(_task, rule=tables.NOTEBOOKS, judge=judging.notebook)
_contest = partial(_task, rule=tables.CONTESTS, runs=run.contest, judge=judging.contest, gold=oracle.program)
_math = partial(_task, rule=tables.MATH, judge=judging.mathematics, gold=oracle.mathematics)

_UNDERSTANDING, _REASONING, _PLANNING = "understanding", "reasoning", "planning"
_SOLVING, _CORRECTION = "problem_solving", "self_correction"

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
        runs=partial(run.notebook, part=QA),
        gold=oracle.cells_then_answers,
        options=(QAS,),
    ),
    _ds(
        "ds_oracle",
        "notebooks, questions on given output",
        data.ORACLE,
        (_UNDERSTANDING,),
        runs=run.notebook_oracle,
        judge=partial(judging.notebook, writes=False),
        gold=oracle.answers,
    ),
    _ds(
        "ds_retry",
        "notebooks, self-correction",
        data.ORACLE,
        (_CORRECTION,),
        runs=partial(run.notebook, again=True),
        gold=oracle.cells_then_answers,
    ),
    _contest("contest_standard", "contests", data.CONTESTS, ()),
    _task(
        "contest_parsing",
        "contests, problem parsing",
        data.CONTEST_PARSING,
        (_UNDERSTANDING,),
        rule=tables.PARSING,
        runs=run.direct,
        judge=judging.contest_parsing,
        gold=oracle.parsed_output,
    ),
    _contest(
        "contest_planner",
        "contests, planner-shift",
        data.CONTEST_PLANS,
        (_REASONING, _PLANNING),
        runs=run.contest_planner,
        gold=oracle.plan_then_program,
        options=(SOLVERS,),
    ),
    _contest("contest_solver", "contests, solver-shift", data.CONTEST_SOLUTIONS, (_SOLVING,)),
    _contest(
        "contest_retry",
        "contests, self-correction",
        data.CONTESTS,
        (_CORRECTION,),
        rule=tables.RETRY,
        runs=run.contest_retry,
        judge=judging.contest_retry,
    ),
    _math("math_standard", "mathematics", data.MATH, (), runs=run.math, options=(JUDGES,)),
    _math(
        "math_comprehend",
        "mathematics, Comprehend+",
        data.MATH_COMPREHEND,
        (_UNDERSTANDING,),
        runs=run.math,
        options=(JUDGES,),
    ),
    _math(
        "math_planner",
        "mathematics, planner-shift",
        data.MATH,
        (_REASONING, _PLANNING),
        runs=run.math_planner,
        options=(JUDGES, SOLVERS),
    ),
    _math(
        "math_solver",
        "mathematics, solver-shift",
        data.MATH,
        (_SOLVING,),
        runs=run.math_solver,
        options=(JUDGES, PLANNERS),
    ),
)
"""What the entry point ``agentgauge.tasks`` announces."""
