"""The details file and the summary of a scored pack (docs/benchmarks/gta_workflow.md#external-agents)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.types import Json, Score, Scoring
from bench_gta.pack.format import Pack, PackTask
from bench_gta.pack.task_folder import number, path_of, problem_of, score_of
from bench_gta.workflow.metrics import SENSITIVITY, THRESHOLD, figures, sensitivity, values_of
from bench_gta.workflow.tree import leaves, parse

Results = Mapping[str, Json]  # task id, as text → that task's record


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """The settings of scoring a pack. A file of details holds the results of one such setting only."""

    judge: str
    fingerprint: str = ""  # of the model, its address and its settings; empty for rules
    reported: str | None = None  # what the endpoint calls the model; None: it was not asked
    prompt: str = ""  # version of the judge's prompt; empty for rules
    votes: int = 1
    scoring: Scoring = "parity"
    leaf_threshold: float = THRESHOLD
    root_threshold: float = THRESHOLD


@dataclass(slots=True)
class StoredResults:
    """The content of a details file. Tasks that the pack no longer has stay in it, and count nowhere."""

    results: dict[str, Json] = field(default_factory=dict)
    interrupted_usd: dict[str, float] = field(default_factory=dict)  # by task id: paid for a judging that was cut short
    reported: str | None = None  # what the judge's endpoint called its model; None: not known

    def note_reported(self, out: Path, reported: str | None, *, force: bool) -> None:
        """Note what it calls the model now, where that is known. Raises UsageProblem where it is another one, unless
        ``force``."""
        if reported is None:
            return
        if self.reported not in (None, reported) and not force:
            raise UsageProblem(
                f"{out} was made when the judge's endpoint called its model {self.reported!r}, not {reported!r}; give"
                " another --out, keep its scores with --force-resume, or start afresh with --overwrite"
            )
        self.reported = reported


def read_stored(out: Path, pack: Pack, settings: ScoringSettings, *, force: bool) -> StoredResults:
    """The results of an earlier call in the details file; empty without such a file.

    A good record stays one only if the task in the pack is still what was judged. Raises UsageProblem for a file of
    another pack (where both are not of one task set), or of another judge, prompt, votes or scoring. ``force`` keeps
    all results unchanged. Thresholds may change, because only the summary uses them.
    """
    if not out.exists():
        return StoredResults()
    try:
        value = json.loads(out.read_bytes())
        stored = StoredResults(
            {**value["task_results"]}, {task: float(usd) for task, usd in value.get("interrupted_usd", {}).items()}
        )
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise UsageProblem(
            f"{out} is not a file of scores; give another --out, or replace it with --overwrite"
        ) from None
    if not force:
        _require_same(out, value, pack, settings)
        stored.reported = value["settings"].get("reported")
    same_file = value.get("pack_sha1") == pack.sha1
    for task in pack.tasks:
        record = stored.results.get(str(task.task_id))
        if record is not None and is_done(record):
            stored.results[str(task.task_id)] = _now(pack, task, record, same_file=same_file, force=force)
    return stored


def is_done(record: Json) -> bool:
    return isinstance(record, dict) and record.get("status") == "ok"


def _now(pack: Pack, task: PackTask, record: Mapping[str, Json], *, same_file: bool, force: bool) -> dict[str, Json]:
    """A good record as it stands now: with the agent's figures of the pack, or ``stale``, which is judged again. Scores
    of the released scorer carry no digest; they count as good in the file that they were made of."""
    digest = digest_of(pack, task)
    now = {**record, "digest": digest, "agent": agent_of(task)}
    same = record.get("digest", digest if same_file else None) == digest
    return now if force or same else {**record, "status": "stale"}


def digest_of(pack: Pack, task: PackTask) -> str:
    """A digest of everything that determines a task's score: request, answer, tree, and names and contents of the
    files.
    """
    files = [[name, _content(pack, name)] for name in task.attached_files]
    shown = [task.origin_prompt, task.assistant_outputs, task.full_tree, files]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:32]


def _content(pack: Pack, name: str) -> str:
    if problem := problem_of(pack.base, name):
        return problem
    try:
        with path_of(pack.base, name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def agent_of(task: PackTask) -> dict[str, Json]:
    """The time and cost of the agent, where they are known."""
    return {name: number(task.meta.get(name)) for name in ("elapsed_sec", "usd")}


def details(pack: Pack, settings: ScoringSettings, stored: StoredResults) -> dict[str, Json]:
    """The whole details file."""
    return {
        "schema_version": 1,
        "pack": pack.path.name if pack.path else None,
        "pack_sha1": pack.sha1,
        "data": asdict(pack.data) if pack.data else None,
        "settings": asdict(settings),
        "task_ids": [task.task_id for task in pack.tasks],
        "interrupted_usd": dict(stored.interrupted_usd),
        "task_results": dict(stored.results),
    }


def summary_block(task_ids: Sequence[int], results: Results) -> dict[str, Json]:
    """Upstream's ``summary`` and ``per_task`` (docs/benchmarks/gta_workflow.md#scoring-a-pack).

    A task without a record is ``pending``, a record without a status ``unknown``. A score may be a text. ``ok`` without
    a score that is a number counts as done but not in the mean. Failed tasks are not in the mean.
    """
    per_task = [_line(task_id, results.get(str(task_id))) for task_id in task_ids]
    ok = [line for line in per_task if line["status"] == "ok"]
    failed = sum(line["status"] == "error" for line in per_task)
    scores = [score for line in ok if (score := score_of(line["score"])) is not None]
    block = {
        "n_total": len(per_task),
        "n_done": len(ok) + failed,
        "n_ok": len(ok),
        "n_error": failed,
        "mean_ok_score": math.fsum(scores) / len(scores) if scores else None,
    }
    return {"summary": block, "per_task": per_task}


def summary(pack: Pack, settings: ScoringSettings, stored: StoredResults) -> dict[str, Json]:
    """The summary file: upstream's blocks, and the figures of the harness table over the pack's tasks that are done. A
    task that could not be judged counts as root score 0 there, with all its leaves failed
    (docs/benchmarks/gta_workflow.md#failed-tasks)."""
    scores = contributions(pack, settings, stored.results)
    known = figures([score.values for score in scores])
    ids = [str(task.task_id) for task in pack.tasks]
    records = [record for task_id in ids if isinstance(record := stored.results.get(task_id), dict)]
    paid = [number(record.get("judge_usd")) or 0.0 for record in records]
    return {
        "name": _name(pack),
        "pack_sha1": pack.sha1,
        "data": asdict(pack.data) if pack.data else None,
        "settings": asdict(settings),
        **summary_block([task.task_id for task in pack.tasks], stored.results),
        "figures": {
            name: known[name] for name in ("Root Score", "Root Score (scored)", "Leaf SR", "Root SR", "Tasks", "Leaves")
        },
        "sensitivity": {"thresholds": list(SENSITIVITY), "rows": sensitivity(scores)},
        **{name: sum(number(_detail_of(record).get(name)) or 0 for record in records) for name in _COUNTS},
        "agent": _totals([agent_of(task) for task in pack.tasks if _finished(task, stored.results)]),
        "judge_usd": math.fsum([*paid, *(stored.interrupted_usd.get(task_id, 0.0) for task_id in ids)]),
    }


_COUNTS = ("fallbacks", "votes", "stored_votes", "unreadable")
"""Of a judge's replies: all that were no JSON, all, those of an earlier call, those without a score as asked for."""


def _name(pack: Pack) -> str:
    """Its name in the harness table: the pack's file, or its folder where the file has the usual name."""
    path = (pack.path or pack.base / "pack.json").absolute()
    return path.parent.name if path.stem == "pack" else path.stem


def contributions(pack: Pack, settings: ScoringSettings, results: Results) -> list[Score]:
    """The values that every finished task adds to the figures."""
    found = []
    for task in pack.tasks:
        record = _finished(task, results)
        if record is None:
            continue
        score = score_of(record.get("score")) if record["status"] == "ok" else None
        ok = score is not None
        values = values_of(
            score or 0.0,
            _leaf_scores(record) if ok else [0.0] * _leaf_count(task.full_tree),
            status="ok" if ok else "error",
            leaf_threshold=settings.leaf_threshold,
            root_threshold=settings.root_threshold,
        )
        found.append(Score(bool(values["root_ok"]), values))
    return found


def _totals(agents: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """What the agent app took over these tasks; None where a task's time or cost is not known."""
    totals: dict[str, Json] = {}
    for name in ("elapsed_sec", "usd"):
        known = [agent[name] for agent in agents if agent[name] is not None]
        totals[name] = math.fsum(known) if known and len(known) == len(agents) else None
    return totals


def _finished(task: PackTask, results: Results) -> Mapping[str, Json] | None:
    record = results.get(str(task.task_id))
    return record if isinstance(record, dict) and record.get("status") in ("ok", "error") else None


def _leaf_count(tree: Json) -> int:
    try:
        return len(leaves(parse(tree)))
    except DataProblem:
        return 0  # a tree that cannot be read has no leaves to fail


def _detail_of(record: Mapping[str, Json]) -> Mapping[str, Json]:
    detail = record.get("detail")
    return detail if isinstance(detail, dict) else {}


def _leaf_scores(record: Mapping[str, Json]) -> list[float]:
    """The scores of the leaves; one that is no number counts as 0. A score of an earlier tool (--force-resume) may
    lack the detail: then it has no leaves."""
    nodes = _detail_of(record).get("nodes")
    found = nodes if isinstance(nodes, list) else []
    return [score_of(node.get("score")) or 0.0 if isinstance(node, dict) else 0.0 for node in found]


def _line(task_id: int, record: Json) -> dict[str, Json]:
    if not isinstance(record, dict):
        return {"task_id": task_id, "status": "pending", "score": None}
    return {"task_id": task_id, "status": record.get("status") or "unknown", "score": record.get("score")}


def _require_same(out: Path, value: Mapping[str, Json], pack: Pack, settings: ScoringSettings) -> None:
    data = value.get("data")
    of_this_set = pack.data is not None and isinstance(data, dict) and data.get("fingerprint") == pack.data.fingerprint
    if value.get("pack_sha1") != pack.sha1 and not of_this_set:
        raise UsageProblem(
            f"{out} holds the scores of another pack (SHA-1 {value.get('pack_sha1')}, not {pack.sha1}); give another"
            " --out, keep its scores with --force-resume, or start afresh with --overwrite"
        )
    before = value.get("settings")
    before = before if isinstance(before, dict) else {}
    for name in ("judge", "fingerprint", "prompt", "votes", "scoring"):
        now = getattr(settings, name)
        if before.get(name) != now:
            raise UsageProblem(
                f"{out} was made with the {name} {before.get(name)!r}, not {now!r}; give another --out, keep its scores"
                " with --force-resume, or start afresh with --overwrite"
            )
