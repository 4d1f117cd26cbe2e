"""The two tasks of GTA-Atomic: step by step and end to end."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from agentgauge.agent.dialects.registry import FAMILIES
from agentgauge.core.capabilities import (
    Agent,
    Exporter,
    ExternalAgents,
    Leaderboard,
    Oracle,
    PredictionFiles,
    Presentation,
    Prompts,
    PublishedRows,
    Similarity,
    kinds,
)
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import Index, Row
from agentgauge.core.task import DataSource, Task
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_gta.atomic import data, oracle
from bench_gta.atomic.files import score_entries, write_predictions
from bench_gta.atomic.fixes import Fixes, e2e_stop, fixes_of, step_stop
from bench_gta.atomic.metrics import (
    E2E_COLUMNS,
    STEP_COLUMNS,
    Values,
    e2e_formula,
    e2e_metrics,
    leaderboards,
    step_formula,
    step_metrics,
)
from bench_gta.atomic.prompts import load_prompts
from bench_gta.atomic.run import run_e2e, run_step
from bench_gta.atomic.score import broken_e2e, broken_step, score_e2e, score_step
from bench_gta.similarity import Similarity as Similar
from bench_gta.similarity import check, comparable, loads_model, set_up, shown_device, similarity
from bench_gta.tools import CATEGORIES, CATEGORY_OF, GtaTools

CITATION = """\
@inproceedings{wang2024gta,
  title = {{GTA}: A Benchmark for General Tool Agents},
  author = {Wang, Jize and Ma, Zerun and Li, Yining and Zhang, Songyang and Chen, Cailian and Chen, Kai and Le, Xinyi},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2024},
  eprint = {2407.08713},
  archivePrefix = {arXiv},
}"""

_HERE = Path(__file__).parent


class GtaAtomicData(DataSource):
    name = "gta_atomic"
    folders = ("gta_dataset",)
    files = (data.DATASET, data.TOOLMETA)
    bundled = _HERE / "mini"

    def index(self, root: Path) -> Index:
        return data.index(root)

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task)

    def labels_of(self, row: Row) -> Sequence[str]:
        """The kind of the query, then the categories of its tools."""
        return [tag for tag in (*data.KINDS, *CATEGORIES) if tag in row.tags]


@dataclass(frozen=True, slots=True)
class _Mode:
    """What the two modes do in their own way."""

    run: Callable[[Case], Awaitable[Json]]
    score: Callable[[Mapping[str, Json], Json, Similar, Fixes], Score]
    score_broken: Callable[[Sequence[Mapping[str, Json]], Json, Fixes], Score]  # of a case without a prediction
    stop: Callable[[Json], str]
    result: Callable[[Sequence[Values], Scoring], dict[str, float | None]]  # the original evaluator's
    formula: Callable[[Scoring], MetricFormula]
    answer: Callable[[Sample, ChatRequest], ChatReply]


class _GtaAtomic(Task, Similarity, Presentation, PublishedRows, Prompts, PredictionFiles, Oracle):
    """What both modes share."""

    data = GtaAtomicData()
    benchmark = "GTA-Atomic"
    counts = frozenset({"ToolCalls", "ToolErrors"})
    published_dialects = ("react",)
    citation = CITATION
    kinds = kinds(
        wrong_tool="invalid_action",
        wrong_argument="argument_error, wrong_drawing",
        missing_call="missing_tool, missing_drawing",
        stopped_early="no_answer, no_action",
        format="unreadable_call, invalid_json",
        judge="similarity server, similarity timeout",
        data="missing file",
    )
    dialects = ("native", "react", *FAMILIES)

    keys: ClassVar[Mapping[str, str]]  # the evaluator's key → column
    mode: ClassVar[_Mode]

    def prompt_version(self, folder: Path | None) -> str:
        return load_prompts(folder).version

    def default_similarity(self, *, official: bool) -> str:
        """The published backend if it is set up and the data is official; otherwise a backend that needs no
        installation and is not comparable."""
        return "mpnet" if official and set_up("mpnet") else "trigram"

    def check_similarity(self, similarity: str) -> None:
        check(similarity)

    def similarity_server(self, similarity: str) -> list[str]:
        command = [sys.executable, "-m", "bench_gta.similarity_server", "--backend", similarity]
        return command if loads_model(similarity) else []

    def similarity_device(self, similarity: str) -> str:
        return shown_device(similarity)

    def comparable(self, similarity: str) -> bool:
        return comparable(similarity)

    def category(self, tags: Sequence[str]) -> str:
        """Its categories: ``perception + logic``."""
        return " + ".join(name for name in CATEGORIES if name in tags) or self.title

    def leaderboards(self) -> Sequence[Leaderboard]:
        return leaderboards(_published())

    async def run(self, case: Case) -> Json:
        data.require_files(case.sample)
        return await self.mode.run(case)

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        reference = sample.payload.get("gt_answer")
        if output is None:
            return self.mode.score_broken(sample.payload["dialogs"], reference, fixes_of(scoring))
        return self.score_entry(output, reference, scoring, similarity)

    def score_entry(self, entry: Mapping[str, Json], reference: Json, scoring: Scoring, backend: str) -> Score:
        """Score one entry of a prediction file."""
        score = self.mode.score(entry, reference, similarity(backend), fixes_of(scoring))
        return replace(score, stops=self.mode.stop(entry["prediction"]))

    def metrics(self, scoring: Scoring) -> MetricFormula:
        return self.mode.formula(scoring)

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        return self.mode.answer(sample, request)

    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        """``metrics`` by the evaluator's keys, ``columns`` by the leaderboards' names, ``stops``, ``remarks``."""

        def score(entry: Mapping[str, Json], reference: Json) -> Score:
            return self.score_entry(entry, reference, scoring, similarity)

        scored = score_entries(samples, predictions, score, strict=scoring == "strict")
        metrics = self.mode.result([score.values for _, score in scored.scores], scoring)
        stops = [{"sample": key, "reason": score.stops} for key, score in scored.scores if score.stops]
        return {
            "metrics": {name: _plain(value) for name, value in metrics.items()},
            "columns": {column: _plain(metrics[key]) for key, column in self.keys.items()},
            "samples": [
                {
                    "id": key,
                    "passed": score.passed,
                    "values": {name: _plain(value) for name, value in score.values.items()},
                    "labels": list(score.labels),
                    "explanation": score.explanation,
                }
                for key, score in scored.scores
            ],
            **({"stops": stops} if stops else {}),
            **({"remarks": scored.remarks} if scored.remarks else {}),
        }

    def exporters(self) -> Mapping[str, Exporter]:
        return {"gta_atomic": self._export}

    def _export(
        self, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
    ) -> list[str]:
        """A folder for each mode, since the original's files have the same names in both: ``step`` and ``e2e``."""
        return write_predictions(results, folder / self.name.rpartition(".")[2], model)


class StepByStep(_GtaAtomic):
    """Each assistant turn is predicted from the gold turns before it."""

    name = "gta_atomic.step"
    title = "step by step"
    skills = MappingProxyType({"tool use": ()})
    columns = tuple(STEP_COLUMNS.values())
    published = ("InstAcc", "ToolAcc", "ArgAcc", "SummAcc")
    keys = STEP_COLUMNS
    expected_requests = 3.2  # 729 predicted turns of 229 queries
    mode = _Mode(run_step, score_step, broken_step, step_stop, step_metrics, step_formula, oracle.answer_step)


class EndToEnd(_GtaAtomic, GtaTools, ExternalAgents):
    """The model works on its own, with real tools."""

    name = "gta_atomic.e2e"
    title = "end to end"
    skills = MappingProxyType(
        {
            "reasoning": ("logic",),
            "problem solving": (),
            "perception": ("perception",),
            "delivery": ("image_generation",),
        }
    )
    columns = tuple(E2E_COLUMNS.values())
    published = ("P", "O", "L", "C", "AnsAcc", "AnsAcc+I")
    headline = "AnsAcc"
    keys = E2E_COLUMNS
    expected_requests = 3.4  # 557 tool calls of 229 queries, and an answer to each
    mode = _Mode(run_e2e, score_e2e, broken_e2e, e2e_stop, e2e_metrics, e2e_formula, oracle.answer_e2e)

    async def run_agent(self, case: Case, agent: Agent) -> Json:
        data.require_files(case.sample)
        return await run_e2e(case, agent=agent)

    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        return tuple(tag for tag in row.tags if tag in CATEGORY_OF)


@cache
def _published() -> Json:
    return json.loads((_HERE / "reference" / "gta_atomic.json").read_text(encoding="utf-8"))


def _plain(value: float | None) -> float | int | None:
    """Counts as whole numbers."""
    return int(value) if value is not None and value.is_integer() else value


TASKS: tuple[Task, ...] = (StepByStep(), EndToEnd())  # what the entry point ``agentgauge.tasks`` announces
