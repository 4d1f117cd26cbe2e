"""The task of WildToolBench: one user task of a session is one case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgauge.agent.dialects.registry import FAMILIES, OURS
from agentgauge.core.capabilities import (
    Agent,
    Breakdown,
    Breakdowns,
    Chosen,
    Exporter,
    ExternalAgents,
    Leaderboard,
    Oracle,
    OwnOptions,
    PredictionFiles,
    Presentation,
    Prompts,
    PublishedRows,
    TaskOption,
)
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import Index, Row
from agentgauge.core.task import DataSource, Task
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_wild import data, oracle
from bench_wild.check import TOOL_LISTS, lacks, read_tool_lists
from bench_wild.labels import KINDS
from bench_wild.layout import ACCEPTED, NOT_VERIFIED
from bench_wild.metrics import COLUMNS, ERROR_COLUMNS, PUBLISHED_AS, formula
from bench_wild.prompts import ORIGINAL, RELEASES, SCHEMAS, VERSIONS, Release, Sending, messages_of
from bench_wild.run import run_task
from bench_wild.score import score_task, situated
from bench_wild.tables import CITATION, breakdowns, leaderboards

_HERE = Path(__file__).parent

LANGUAGE = TaskOption(
    "--wild-language", "WildToolBench's tasks, tools and history in English or Chinese (default: en)", data.LANGUAGES
)
EVALUATOR = TaskOption(
    "--wild-evaluator",
    "WildToolBench's release: that of April 2026, or the earlier one that the published tables used; how tasks are"
    " scored, and how a model with calls of its own is asked (default: 2026)",
    RELEASES,
    asks=False,
)
NO_CONTEXT = TaskOption(
    "--wild-no-context",
    "send WildToolBench's tasks without the earlier tasks of their session; the first task of each session is left out"
    " (default: off)",
)
NO_ROLES = TaskOption(
    "--wild-no-roles",
    "send WildToolBench's texts without the speaker's name in front, such as 'User:' (default: off)",
)
TOOL_SCHEMAS = TaskOption(
    "--wild-schemas",
    "WildToolBench's tools as in the data, or normalised as the earlier release does for OpenAI and Azure, which its"
    " evaluator (2025) implies for a model with calls of its own (default: original)",
    SCHEMAS,
)
SKIP_INVALID = TaskOption(
    "--skip-invalid",
    "leave out and report WildToolBench sessions whose data breaks a rule, instead of refusing the file (default:"
    " refuse)",
)


class WildData(DataSource):
    """Sessions of one language, four tasks each."""

    name = "wild"
    folders = ("WildToolBench", "WildToolBench-main")
    group = "session"
    files = (data.FILES[0],)
    bundled = _HERE / "mini"

    def __init__(self, language: str = "en", *, context: bool = True, skip_invalid: bool = False) -> None:
        self.language = language  # of the twins in the data: "en" or "zh"
        self.context = context  # tasks are sent after those before them
        self.skip_invalid = skip_invalid  # leave sessions out that break a rule, instead of refusing the file

    def is_in(self, root: Path) -> bool:
        """Whether a file of either release lies here, or in the folder ``data`` (as released)."""
        return data.find(root) is not None

    def index(self, root: Path) -> Index:
        found = data.index(root, self.language, skip_invalid=self.skip_invalid)
        if not found.rows and any(isinstance(one, data.Session) for one in self._sessions(found.file)):
            other = next(one for one in data.LANGUAGES if one != self.language)
            raise UsageProblem(
                f"{found.file} has no session in the language {self.language}; give --wild-language {other}"
            )
        if self.context:
            return found
        # without the tasks before them only later tasks say something: as upstream
        # (docs/benchmarks/wild.md#release-of-2025)
        return replace(found, rows=tuple(row for row in found.rows if data.split_id(row.id)[1] > 0))

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task, self.language)

    def group_of(self, row: Row) -> str:
        return data.split_id(row.id)[0]

    def labels_of(self, row: Row) -> Sequence[str]:
        """The task's type, then the turn's subtype."""
        return data.labels(row.tags)

    def left_out(self, root: Path) -> Sequence[str]:
        file = data.find(root)
        return [str(problem) for problem in data.problems(file, self.language)] if self.skip_invalid and file else ()

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        """Problems are broken rules and gold that no model can reach; oddities are gaps in lists of tools."""
        folder = self.find(folder) or folder
        file = data.find(folder)
        lists = [folder / name for name in TOOL_LISTS if (folder / name).is_file()]
        if file is None and not lists:
            raise UsageProblem(
                f"{folder} holds none of {', '.join((*data.FILES, *TOOL_LISTS))}; give a folder of WildToolBench's data"
            )
        problems, strange = list[str](), list[str]()
        if file:
            strange += data.differences(file)
        for one in self._sessions(file) if file else ():
            if isinstance(one, data.RecordProblem):
                problems.append(str(one))
            else:
                problems += oracle.unreachable(one)
                strange += [f"session {one.id!r}: {text}" for text in lacks(one.tools)]
        for path in lists:
            for number, tools in enumerate(read_tool_lists(path), 1):
                strange += [f"{path.name}, line {number}: {text}" for text in lacks(tools)]
        return problems, strange

    def _sessions(self, file: Path) -> list[data.Session | data.RecordProblem]:
        """The sessions of the run's language, or, where the file has none, of the other; with what is wrong in the
        file."""
        read: list[data.Session | data.RecordProblem] = []
        for language in (self.language, *data.LANGUAGES):
            read = list(data.read_sessions(file, language))
            if any(isinstance(one, data.Session) for one in read):
                break
        return read


class Wild(Task, ExternalAgents, OwnOptions, Presentation, PublishedRows, Prompts, PredictionFiles, Oracle, Breakdowns):
    """Four tasks a session, each with the gold history of those before it; results are recorded ones, nothing runs."""

    data: WildData
    name = "wild"
    benchmark = "WildToolBench"
    title = "tasks"
    columns = (*COLUMNS, *ERROR_COLUMNS)  # the latter with the earlier evaluator
    published = tuple(PUBLISHED_AS.values())
    headline = PUBLISHED_AS["task_accuracy"]
    second_headline = PUBLISHED_AS["session_accuracy"]
    published_dialects = ("native", *OURS)
    citation = CITATION
    kinds = KINDS
    skills = MappingProxyType(
        {
            "tool use": ("single", "parallel", "sequential", "mixed"),
            "understanding": ("clarify", "chat"),
            "planning": ("sequential", "mixed"),
            "long dialogue": ("coreferential", "partial", "long-range"),
        }
    )
    dialects = ("native", "react", *FAMILIES)
    expected_requests = (
        2.2  # to chat 1, to call once or in parallel 2, to clarify 3, and 4 for a chain: by their shares
    )
    options = (LANGUAGE, EVALUATOR, NO_CONTEXT, NO_ROLES, TOOL_SCHEMAS, SKIP_INVALID)

    def __init__(
        self,
        language: str = "en",
        evaluator: Release = "2026",
        *,
        sending: Sending = ORIGINAL,
        skip_invalid: bool = False,
    ) -> None:
        self.data = WildData(language, context=sending.context, skip_invalid=skip_invalid)
        self.evaluator = evaluator
        self.sending = sending

    def configure(self, chosen: Chosen) -> None:
        self.evaluator = next(name for name in RELEASES if name == chosen[EVALUATOR.name])
        self.sending = Sending(
            context=not chosen[NO_CONTEXT.name],
            roles=not chosen[NO_ROLES.name],
            schemas=next(name for name in SCHEMAS if name == chosen[TOOL_SCHEMAS.name]),
            release=self.evaluator,
        )
        self.data = WildData(
            str(chosen[LANGUAGE.name]),
            context=self.sending.context,
            skip_invalid=bool(chosen[SKIP_INVALID.name]),
        )

    async def run(self, case: Case) -> Json:
        return await run_task(case, self.sending)

    async def run_agent(self, case: Case, agent: Agent) -> Json:
        return await run_task(case, self.sending, agent)

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        session, task = data.resolve(sample)
        if isinstance(output, str):
            # upstream loses the session with this task; the session's accuracy says the same, its other tasks stand
            lost = score_task(session, task, None, scoring, self.evaluator)
            text = f"the published protocol stops here: {output!r}"
            score = Score(False, lost.values, ("session_fails",), text, lost.group, output)
        else:
            score = score_task(session, task, output, scoring, self.evaluator)
        return situated(score, session, task, messages_of(session, task, context=self.sending.context))

    def metrics(self, scoring: Scoring) -> MetricFormula:
        return formula(scoring)

    def breakdowns(self, scores: Sequence[Score], scoring: Scoring) -> Sequence[Breakdown]:
        return breakdowns(scores, scoring)

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        return oracle.native_reply(oracle.answer(sample, request.case.turn if request.case else 0, one_call=one_call))

    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        from bench_wild.files import score_files

        found = samples if samples.is_file() else self.data.find(samples) or samples
        return score_files(
            found,
            predictions,
            scoring=scoring,
            evaluator=self.evaluator,
            language=self.data.language,
            skip_invalid=self.data.skip_invalid,
        )

    def exporters(self) -> Mapping[str, Exporter]:
        return {"wild": self._export, "wild-csv": self._export_csv}

    def _export(
        self, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
    ) -> list[str]:
        from bench_wild.files import RESULTS, write_result_lines

        place = folder / "result" / model.replace("/", "_")
        place.mkdir(parents=True, exist_ok=True)
        resolved = ((*data.resolve(sample), output) for sample, output, _ in results)
        missing = write_result_lines(
            place / RESULTS, resolved, model, sending=self.sending, tolerant=scoring == "strict"
        )
        return [f"session {session} is left out: one of its tasks is missing before another" for session in missing]

    def _export_csv(
        self,
        results: Iterable[tuple[Sample, Json, Path]],
        folder: Path,
        *,
        model: str,
        scoring: Scoring,
    ) -> list[str]:
        """Write a row for each task, scored by the run's evaluator, in the order of the data."""
        from bench_wild.files import FILE, write_csv

        folder.mkdir(parents=True, exist_ok=True)
        finished = sorted(results, key=lambda result: result[0].position)
        rows = (
            (*data.resolve(sample), output, self.score(sample, output, scoring, "")) for sample, output, _ in finished
        )
        write_csv(folder / FILE, rows, sending=self.sending, tolerant=scoring == "strict")
        return []

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        # a run of an earlier version of AgentGauge has no value for the switches
        found = {
            "evaluator 2026 instead of 2025": chosen[EVALUATOR.name] != "2025",
            "language zh instead of en": chosen[LANGUAGE.name] != "en",
            "without the earlier tasks": chosen.get(NO_CONTEXT.name, False),
            "schemas azure instead of original": chosen.get(TOOL_SCHEMAS.name) == "azure",
        }
        return [reason for reason, holds in found.items() if holds]

    def not_official(self, differences: Sequence[str]) -> Sequence[str]:
        """Generated sessions, whether a person has accepted them or not."""
        return [one for one in differences if one.endswith((NOT_VERIFIED, ACCEPTED))]

    def prompt_version(self, folder: Path | None) -> str:
        """Every text is the data set's, so ``folder`` replaces none."""
        return VERSIONS[self.evaluator]

    def category(self, tags: Sequence[str]) -> str:
        """The session."""
        return tags[-1]

    def leaderboards(self) -> Sequence[Leaderboard]:
        return leaderboards(_published())


@cache
def _published() -> Json:
    return json.loads((_HERE / "reference" / "wild.json").read_text(encoding="utf-8"))


TASKS: tuple[Task, ...] = (Wild(),)
"""What the entry point ``agentgauge.tasks`` announces."""
