"""The task of WildToolBench: one user task of a session is one case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_wild import data, oracle
from bench_wild.metrics import COLUMNS, PUBLISHED_AS, table
from bench_wild.prompts import VERSION
from bench_wild.run import run_task
from bench_wild.score import EVALUATORS, Evaluator, score_task
from harness.case import Case
from harness.data.index import Index, Row
from harness.errors import UsageProblem
from harness.model.types import ChatReply, ChatRequest
from harness.task import Task
from harness.types import Json, Metric, Sample, Score, Scoring

_HERE = Path(__file__).parent


class Wild(Task):
    """Four tasks a session, each with the gold history of those before it; results are recorded ones, nothing runs."""

    name = "wild"
    benchmark = "WildToolBench"
    title = "tasks"
    data_set = "wild"
    data_files = (data.FILES[0],)
    mini = _HERE / "mini"
    columns = COLUMNS
    published = tuple(PUBLISHED_AS.values())
    published_dialect = "native"
    dialects = ("native",)

    def __init__(self, language: str = "en", evaluator: Evaluator = "2026", *, skip_invalid: bool = False) -> None:
        self.language = language  # of the twins in the data: "en" or "zh"
        self.evaluator = evaluator
        self.skip_invalid = skip_invalid  # leave sessions out that break a rule, instead of refusing the file

    def configure(self, *, language: str, evaluator: str, skip_invalid: bool) -> None:
        """Take over the options of a run. Raises UsageProblem."""
        if language not in data.LANGUAGES:
            raise UsageProblem(f"--wild-language {language!r} is unknown; accepted are {', '.join(data.LANGUAGES)}")
        known = {name: name for name in EVALUATORS}
        if evaluator not in known:
            raise UsageProblem(f"--wild-evaluator {evaluator!r} is unknown; accepted are {', '.join(EVALUATORS)}")
        self.language, self.evaluator, self.skip_invalid = language, known[evaluator], skip_invalid

    def find(self, folder: Path) -> Path | None:
        """Where a file of either release lies: there, in its folder ``data`` (as released), or the same below ``wild``."""
        return next((root for root in (folder, folder / self.data_set) if data.find(root)), None)

    def index(self, root: Path) -> Index:
        return data.index(root, self.language, skip_invalid=self.skip_invalid)

    def load(self, index: Index, row: Row) -> Sample:
        return data.load(index, row, self.name, self.language)

    async def run(self, case: Case) -> Json:
        return await run_task(case)

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        session, task = data.resolve(sample)
        if isinstance(output, str):
            # upstream loses the session with this task; the session's accuracy says the same, its other tasks stand
            lost = score_task(session, task, None, scoring, self.evaluator)
            return Score(False, lost.values, ("session_fails",), f"the published protocol stops here: {output!r}", lost.group)
        return score_task(session, task, output, scoring, self.evaluator)

    def metrics(self, scores: Sequence[Score], scoring: Scoring) -> dict[str, Metric]:
        return table(scores, scoring)

    def oracle(self, sample: Sample, request: ChatRequest) -> ChatReply:
        return oracle.native_reply(oracle.answer(sample, request))

    def score_files(self, samples: Path, predictions: Path, *, scoring: Scoring, similarity: str) -> Mapping[str, Any]:
        from bench_wild.files import score_files

        return score_files(samples, predictions, scoring=scoring, evaluator=self.evaluator, language=self.language)

    def prompt_version(self, folder: Path | None) -> str:
        """Every text is the data set's, so ``folder`` replaces none; what the options change counts."""
        return f"{VERSION} {self.language} {self.evaluator}{' skip' if self.skip_invalid else ''}"

    def story(self, tags: Sequence[str]) -> str:
        """The session."""
        return tags[-1]

    def check_data(self, root: Path) -> list[str]:
        """What is wrong with the data below ``root``, one sentence each: broken rules, and gold that nothing can reach."""
        file = data.find(root)
        if file is None:
            raise UsageProblem(f"{root} holds neither {' nor '.join(data.FILES)}; give a folder with WildToolBench's data")
        found: list[str] = []
        for one in data.read_sessions(file, self.language):
            found += [str(one)] if isinstance(one, data.RecordProblem) else oracle.unreachable(one)
        return found

    def reference_rows(self) -> list[Mapping[str, Any]]:
        published = json.loads((_HERE / "reference" / "wild.json").read_text(encoding="utf-8"))
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        for edition, title in (("full", "paper, all models"), ("main_body", "paper, main body")):
            for listed in published[edition].values():
                for row in listed:
                    merged = rows.setdefault((title, row["model"]), {"edition": title, "model": row["model"]})
                    merged |= {column: row[name] for name, column in PUBLISHED_AS.items() if name in row}
        return list(rows.values())


TASKS: tuple[Task, ...] = (Wild(),)
"""What the entry point ``agentgauge.tasks`` announces."""
