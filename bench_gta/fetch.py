"""The official data of both halves of GTA-2: its sources and its required content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from agentgauge.data.fetch.dataset import DataSet, Verified
from agentgauge.data.fetch.sources import Hub, Release
from agentgauge.data.fetch.unpack import ASSETS
from bench_gta.atomic import data
from bench_gta.workflow import data as workflow
from bench_gta.workflow import tree

_REPO = "open-compass/GTA"

QUERIES, PICTURES = 229, 252  # docs/benchmarks/gta_atomic.md#published-numbers
DRAWN = 57  # queries for a picture
TASKS, LEAVES = 132, 1156  # docs/benchmarks/gta_workflow.md#published-numbers


def verify_atomic(root: Path) -> Verified:
    """Counts of docs/benchmarks/gta_atomic.md#published-numbers; every record parses, every picture is there. Raises
    DataProblem for a wrong record."""
    index = data.index(root)
    samples = [data.load(index, row, "gta_atomic.step").payload for row in index.rows]
    used = {used["path"] for sample in samples for used in sample["files"]}
    kinds = Counter(data.kind_of(sample.get("gt_answer")) for sample in samples)
    drawn = kinds["image_generation"]
    parts = f"{kinds['objective']} objective, {kinds['subjective']} subjective, {drawn} for a picture"
    found = (
        f"{len(samples)} queries: {parts}",
        f"{len(used)} pictures are referenced, {len(data.read_tools(root))} tools",
    )
    strange = [*_differs("pictures", len(used), PICTURES), *_differs("queries for a picture", drawn, DRAWN)]
    strange += [*_empty(root, used), *index.differences]
    wrong = (*_missing(root, used), *_differs("queries", len(samples), QUERIES))
    return Verified(len(samples), found, wrong, tuple(strange))


def verify_workflow(root: Path) -> Verified:
    """Counts of docs/benchmarks/gta_workflow.md#published-numbers; every record parses, every attachment is there.
    Raises DataProblem for a record that is wrong."""
    index = workflow.index(root)
    tasks = [workflow.load(index, row, "gta_workflow").payload for row in index.rows]
    used = {str(used["path"]) for task in tasks for used in workflow.files_of(task)}
    leaves = sum(len(tree.leaves(tree.parse(task.get("sub_tasks", [])))) for task in tasks)
    found = (
        f"{len(tasks)} tasks with {leaves} checkpoints",
        f"{len(used)} attached files, {len(workflow.read_tools(root))} tools",
    )
    strange = (*_differs("checkpoints", leaves, LEAVES), *index.differences, *workflow.strange(root))
    return Verified(len(tasks), found, (*_missing(root, used), *_differs("tasks", len(tasks), TASKS)), strange)


def _missing(root: Path, paths: Iterable[str]) -> list[str]:
    """An index out of the cache does not look at the files again, so that it is done here."""
    return [f"the file {path!r} is referenced and missing" for path in sorted(paths) if not (root / path).is_file()]


def _empty(root: Path, paths: Iterable[str]) -> list[str]:
    there = [path for path in sorted(paths) if (root / path).is_file()]
    return [f"the file {path!r} is empty" for path in there if not (root / path).stat().st_size]


def _differs(what: str, count: int, published: int) -> list[str]:
    return [] if count == published else [f"{count} {what}, and {published} are published"]


ATOMIC = DataSet(
    name="gta-atomic",
    title="GTA-Atomic",
    folder="gta_atomic",
    main=(data.DATASET,),
    licence="data of open-compass/GTA; its copy on the hub is under Apache-2.0",
    citation=(
        "Wang et al., GTA: A Benchmark for General Tool Agents, NeurIPS 2024 Datasets and Benchmarks, arXiv:2407.08713",
    ),
    homepage="https://open-compass.github.io/GTA/",
    sources={
        "github": Release(_REPO, "v0.1.0", r"gta_dataset\.zip.*", ("gta_dataset.zip",)),
        "hub": Hub("Jize1/GTA", ("*dataset.json", "*toolmeta.json", "*image/*")),
    },
    verify=verify_atomic,
)
"""GTA-Atomic, in release v0.1.0 and on the hub."""

WORKFLOW = DataSet(
    name="gta-workflow",
    title="GTA-Workflow",
    folder="gta_workflow",
    main=(workflow.DATASET,),
    licence="data of open-compass/GTA; see its homepage for the licence. About 6 GB",
    citation=("GTA-2, arXiv:2604.15715 (2026)",),
    homepage=f"https://github.com/{_REPO}",
    sources={
        "github": Release(_REPO, "v0.2.0", ASSETS, ("gta_dataset_v2.zip",)),
        "hub": Hub("Jize1/GTA-Workflow", ("*",)),
    },
    verify=verify_workflow,
)
"""GTA-Workflow, in release v0.2.0 and on the hub."""
