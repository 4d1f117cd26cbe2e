"""The task of GTA-Workflow.

Answering with the reference steps, by which real tools make the deliverables (docs/benchmarks/gta_workflow.md#tasks).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgauge.agent.dialects.registry import FAMILIES
from agentgauge.agent.framing import framing_note
from agentgauge.core.capabilities import (
    Agent,
    Artifact,
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
    kinds,
)
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, ChatRequest, Message
from agentgauge.core.config import load_config
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import Entry, Index, Row
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.task import DataSource, Task
from agentgauge.core.text import cut
from agentgauge.core.types import Json, Sample, Score, Scoring
from agentgauge.store.folder import sample_name
from bench_gta.atomic.oracle import call_reply, planned, produced, turn_of
from bench_gta.atomic.prompts import load_prompts
from bench_gta.tools import WORKFLOW_CATEGORIES, GtaTools
from bench_gta.workflow import data, prompts, rules
from bench_gta.workflow.data import files_of, resolve
from bench_gta.workflow.judge import RULES, Judge, ModelJudge, RulesJudge, check_of, scored
from bench_gta.workflow.judgements import NONE, USER, Judgements, open_judgements
from bench_gta.workflow.metrics import (
    COLUMNS,
    COUNTS,
    FALLBACKS,
    FORMULA,
    PUBLISHED,
    THRESHOLD,
    leaderboards,
    sensitivity,
)
from bench_gta.workflow.run import OURS, PAPER, run_workflow, write_predictions
from bench_gta.workflow.score import Thresholds, failed, page, score_output
from bench_gta.workflow.score_files import USUAL, identity_of, make_judge
from bench_gta.workflow.tree import Node, leaves, parse

CITATION = """\
@misc{wang2026gta2,
  title = {{GTA-2}: Benchmarking General Tool Agents from Atomic Tool-Use to Open-Ended Workflows},
  author = {Wang, Jize and Liu, Xuanxuan and Li, Yining and Zhang, Songyang and Wang, Yijun and Shan, Zifei
            and Le, Xinyi and Chen, Cailian and Guan, Xinping and Tao, Dacheng},
  year = {2026},
  eprint = {2604.15715},
  archivePrefix = {arXiv},
}"""

_HERE = Path(__file__).parent

JUDGE = TaskOption(
    "--judge-model",
    f"GTA-Workflow: multimodal model that judges the delivered files and the answer; {RULES} is the embedded judge,"
    f" which checks conditions; only the bundled data states such conditions (default: {RULES})",
    default=RULES,
    model=True,
    instead=(RULES,),
    requests=8.8,  # one for each leaf: 1,156 leaves of 132 tasks
    pictures=True,
)
VOTES = TaskOption(
    "--judge-votes",
    "GTA-Workflow: how often each leaf (checkpoint) is judged; the median score counts (default: 1)",
    default="1",
    metavar="K",
)
CACHE = TaskOption(
    "--judge-cache",
    f"GTA-Workflow: folder of stored judgements; {USER} is a folder in the user's cache, {NONE} stores none"
    f" (default: {USER})",
    default=USER,
    metavar="DIR",
    asks=False,
    matters=False,
)
LEAF, ROOT = (
    TaskOption(
        f"--{what}-threshold",
        f"GTA-Workflow: a {met} from this score on, 0 to 10 (default: {THRESHOLD:g})",
        default=f"{THRESHOLD:g}",
        metavar="SCORE",
        asks=False,
    )
    for what, met in (("leaf", "leaf counts as met"), ("root", "task counts as solved"))
)
SAMPLING = TaskOption(
    "--workflow-sampling",
    "GTA-Workflow: sampling of the tested model if its settings name none; ours: at most 4096 tokens per reply; paper:"
    " the original's 512 tokens and temperature 0.7 (default: ours)",
    ("ours", "paper"),
)


class WorkflowData(DataSource):
    name = "gta_workflow"
    folders = ("gta_dataset_v2",)
    files = (data.DATASET, data.TOOLMETA)
    bundled = _HERE / "mini"

    def index(self, root: Path) -> Index:
        return data.index(root)

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return data.load(index, row, task)

    def labels_of(self, row: Row) -> Sequence[str]:
        """The category of the task, then those of its tools."""
        category = next((tag for tag in row.tags if tag in data.CATEGORIES_OF_TASKS.values()), "other")
        return [category, *(tag for tag in WORKFLOW_CATEGORIES if tag in row.tags)]

    def check(self, folder: Path) -> tuple[list[str], list[str]]:
        problems, odd = super().check(folder)
        root = self.find(folder)
        assert root is not None
        for entry in data.entries(root / data.DATASET):
            for node in _leaves(entry):
                try:
                    if "check" in node.raw:
                        rules.validate(node.raw["check"])
                except DataProblem as problem:
                    problems.append(f"{root / data.DATASET}: task {entry.key!r}, leaf {node.id!r}: {problem}")
        return problems, [*odd, *data.strange(root)]


class Workflow(
    Task, GtaTools, ExternalAgents, OwnOptions, Presentation, PublishedRows, Prompts, PredictionFiles, Oracle
):
    """Long open-ended tasks with the whole tool set, judged on what the agent delivers."""

    name = "gta_workflow"
    data = WorkflowData()
    benchmark = "GTA-Workflow"
    title = "workflows"
    columns = COLUMNS
    counts = frozenset({*COUNTS, FALLBACKS})
    published = PUBLISHED
    headline = "Root SR"
    published_dialects = ("react",)
    citation = CITATION
    kinds = kinds(
        wrong_tool="invalid_action",
        stopped_early="no_answer, no_files, no_action",
        format="unreadable_calls",
        failed_code="tool_errors",
        judge="not_judged, unreadable_judgement",
    )
    skills = MappingProxyType(
        {
            "reasoning": ("logic",),
            "planning": ("planning_decision",),
            "perception": ("perception",),
            "delivery": (
                "creative_design",
                "data_analysis",
                "education_instruction",
                "marketing_strategy",
                "planning_decision",
            ),
        }
    )
    dialects = ("native", "react", *FAMILIES)
    expected_requests = 13.2  # 4.4 gold steps of a bundled task, and a request to the judge for each leaf
    options = (JUDGE, VOTES, CACHE, LEAF, ROOT, SAMPLING)
    samples_needed = False

    def __init__(self) -> None:
        self.judge = RULES
        self.votes = 1
        self.cache = USER
        self.judgements = Judgements(None)  # until ``configure``
        self.thresholds = Thresholds()
        self.usual = OURS

    def configure(self, chosen: Chosen) -> None:
        self.judge = str(chosen[JUDGE.name])
        self.votes = _whole(VOTES.name, str(chosen[VOTES.name]))
        self.cache = str(chosen[CACHE.name])
        self.judgements = open_judgements(self.cache)
        self.thresholds = Thresholds(*(_score(option.name, str(chosen[option.name])) for option in (LEAF, ROOT)))
        self.usual = PAPER if chosen[SAMPLING.name] == "paper" else OURS

    async def run(self, case: Case) -> Json:
        data.require_files(case.sample)
        return await run_workflow(case, self._judge_of(case), self.usual)

    async def run_agent(self, case: Case, agent: Agent) -> Json:
        data.require_files(case.sample)
        return await run_workflow(case, self._judge_of(case), self.usual, agent)

    def _judge_of(self, case: Case) -> Judge:
        if self.judge == RULES:
            return RulesJudge()
        template = prompts.load_template(case.settings.prompts)

        async def ask(messages: Sequence[Message], draw: int) -> ChatReply:
            return await case.ask(messages, role=JUDGE.name, usual=USUAL, draw=draw if draw or self.votes > 1 else None)

        return ModelJudge(
            case.name_of(JUDGE.name),
            ask,
            template=template,
            identity=identity_of(case.fingerprint_of(JUDGE.name)),
            reported=case.reported_of(JUDGE.name),
            votes=self.votes,
            released=case.settings.scoring == "parity",
            judgements=self.judgements if case.settings.live else None,
        )

    def score(self, sample: Sample, output: Json | None, scoring: Scoring, similarity: str) -> Score:
        if output is None:
            return failed(sample.payload)
        return score_output(sample.payload, output, self.thresholds, strict=scoring == "strict")

    def metrics(self, scoring: Scoring) -> MetricFormula:
        return replace(FORMULA, details=self._details)

    def _details(self, scores: Sequence[Score]) -> Mapping[str, Mapping[str, Json]]:
        """Leaf SR and Root SR also at other thresholds."""
        found = {
            column: {"threshold": threshold, "at": {str(row["threshold"]): row[column] for row in sensitivity(scores)}}
            for column, threshold in (("Leaf SR", self.thresholds.leaf), ("Root SR", self.thresholds.root))
        }
        for name in ("shown_otherwise", "votes", "stored_votes", "unreadable"):  # scores of earlier versions lack some
            found["Root SR"][name] = sum(score.values.get(name, 0.0) for score in scores)
        return found

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        return oracle_answer(sample, request)

    def score_files(
        self, samples: Path | None, predictions: Path, *, scoring: Scoring, similarity: str
    ) -> Mapping[str, Any]:
        from bench_gta.workflow.score_files import score_predictions

        config, released = load_config(root=Path.cwd()), scoring == "parity"
        made = make_judge(self.judge, votes=self.votes, cache=self.cache, released=released, config=config)
        return score_predictions(samples, predictions, made, self.thresholds, strict=scoring == "strict")

    def exporters(self) -> Mapping[str, Exporter]:
        return {"gta_workflow": self._export}

    def _export(
        self, results: Iterable[tuple[Sample, Json, Path]], folder: Path, *, model: str, scoring: Scoring
    ) -> list[str]:
        """One prediction file; what was delivered lies beside it, and is named by relative paths."""
        records = []
        for sample, output, made in results:
            place = f"files/{sample_name(sample.id)}"
            if made.is_dir():
                shutil.copytree(made, folder / place, symlinks=True)
            records.append(with_placeholders(output, {str(made): place}))
        folder.mkdir(parents=True, exist_ok=True)
        write_predictions(folder / f"{model.replace('/', '_')}_gta_workflow.json", records)
        return []

    def artifacts(self, output: Json, score: Score | None, scoring: Scoring) -> Sequence[Artifact]:
        """The checkpoint tree, and the deliverables."""
        found = scored(output["full_tree"], output["judged"]["leaves"], strict=scoring == "strict")
        tree = Artifact("checkpoints", html=page(found, output["judged"]["judge"], self.thresholds))
        return [tree, *(Artifact(Path(path).name, path) for path in output["delivered"])]

    def prompt_version(self, folder: Path | None) -> str:
        return f"{load_prompts(folder).version}-{prompts.version(prompts.load_template(folder))}"

    def prompt_note(self, version: str, chosen: Chosen) -> str:
        return framing_note(version) if chosen[JUDGE.name] != RULES else ""

    def check_options(self, root: Path) -> None:
        """The embedded judge needs conditions at every leaf, and official data has none."""
        if self.judge == RULES:
            for entry in data.entries(root / data.DATASET):
                _require_rules(root, entry)

    def not_comparable(self, chosen: Chosen) -> Sequence[str]:
        differs = {
            f"judge {chosen[JUDGE.name]} instead of gpt-5.2": chosen[JUDGE.name] != "gpt-5.2",
            "4096 tokens a reply instead of 512": chosen[SAMPLING.name] != "paper",
            f"median of {self.votes} votes instead of one": self.votes != 1,
        }
        return [reason for reason, holds in differs.items() if holds]

    def tools_of(self, index: Index, row: Row) -> tuple[str, ...]:
        """All tools: every task offers the whole set (docs/benchmarks/gta_workflow.md#protocol)."""
        return tuple(data.read_tools(index.root))

    def category(self, tags: Sequence[str]) -> str:
        """The task's category."""
        return next((title for title, tag in data.CATEGORIES_OF_TASKS.items() if tag in tags), self.title)

    def notes(self, metrics: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
        """The thresholds, which are not published, and the figures at other thresholds
        (docs/benchmarks/gta_workflow.md#thresholds)."""
        rows = [(column, metrics[column]) for column in ("Leaf SR", "Root SR")]
        if any(metric["value"] is None for _, metric in rows):
            return ()
        used = ", ".join(f"{column} from {metric['threshold']:g}" for column, metric in rows)
        notes = [f"thresholds (of 10, inclusive, our choice): {used}; at other ones:"]
        root = metrics["Root SR"]
        if stored := root.get("stored_votes", 0):
            kept = "were stored ones, which this judge had given before"
            notes.insert(0, f"{stored:g} of {root['votes']:g} verdicts of the judge {kept} (--judge-cache)")
        for column, metric in rows:
            notes.append(f"{column} at " + ", ".join(f"{at}: {value:.2f}" for at, value in metric["at"].items()))
        if otherwise := metrics["Root SR"].get("shown_otherwise", 0):
            shown = "files as the other --scoring shows them; a new run would show other files"
            notes.insert(0, f"{otherwise:.0f} tasks were judged on {shown}")
        return notes

    def doubts(self, part: Mapping[str, Any]) -> Sequence[str]:
        root, found = part["metrics"].get("Root SR", {}), []
        if unreadable := root.get("unreadable", 0):
            found.append(
                f"{self.name}: {unreadable:g} of {root['votes']:g} replies of the judge hold no score in the form asked"
                " for; they count as 0 or by a number found in them, and say nothing about the agent"
            )
        if broken := part["causes"].get("judge", 0):
            found.append(f"{self.name}: {broken} of {part['planned']} cases have no verdict: {_NO_REPLY}")
        return found

    def leaderboards(self) -> Sequence[Leaderboard]:
        return leaderboards()


_NO_REPLY = "no reply of the judge could be used, although it was asked again"


def _require_rules(root: Path, entry: Entry) -> None:
    """Raises UsageProblem where the embedded judge could not judge a task."""
    for node in _leaves(entry):
        try:
            rules.validate(check_of(node))
        except DataProblem as problem:
            raise UsageProblem(f"{root / data.DATASET}: task {entry.key!r}, leaf {node.id!r}: {problem}") from None


def _leaves(entry: Entry) -> list[Node]:
    return leaves(parse(entry.value.get("sub_tasks", [])))


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,2}", text) or not 1 <= int(text) <= 25:
        raise UsageProblem(f"{name} must be an integer from 1 to 25; got {cut(text)!r}")
    return int(text)


def _score(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10:
        raise UsageProblem(f"{name} must be a number from 0 to 10; got {text!r}")
    return value


TASKS: tuple[Task, ...] = (Workflow(),)  # what the entry point ``agentgauge.tasks`` announces


def oracle_answer(sample: Sample, request: ChatRequest) -> ChatReply:
    """The next reference call of the user turn, then its closing text.

    Wherever an argument names an attached file, or one that an earlier reference call made, the path becomes that of
    the file of this run: also inside a longer text, such as Markdown with pictures or a list between commas.
    """
    _, answers, call, closing = planned(resolve(sample).dialogs, turn_of(request))
    if call is None:
        return ChatReply(text=closing)
    attached = {used["path"]: f"{sample.root}/{used['path']}" for used in files_of(sample.payload)}
    paths = attached | produced(answers, request)
    function = call["tool_calls"][0]["function"]
    arguments = {name: with_paths(value, paths) for name, value in function["arguments"].items()}
    called = {"type": "function", "function": {**function, "arguments": arguments}}
    return call_reply(request, {**call, "tool_calls": [called]})


def with_paths(value: Json, paths: Mapping[str, str]) -> Json:
    """A text with every path of ``paths`` that stands in it as a whole replaced; any other value as it is."""
    if not isinstance(value, str) or not paths:
        return value
    known = "|".join(map(re.escape, sorted(paths, key=len, reverse=True)))
    return re.sub(rf"(?<![\w./-])(?:{known})(?![\w/-])", lambda found: paths[found[0]], value)
