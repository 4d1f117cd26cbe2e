"""Upstream's result of judging a whole prediction file (GTA-Workflow spec 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgauge.core.types import Json
from bench_gta.workflow.judging.replies import Verdict
from bench_gta.workflow.tree import Value


@dataclass(frozen=True, slots=True)
class Job:
    """One sample to be judged."""

    index: Json  # names the sample in the result
    tree: Json
    trace: Json
    origin_prompt: Json
    files: Json  # as stored


def jobs(
    trees: Sequence[Json],
    traces: Sequence[Json],
    *,
    origin_prompts: Sequence[Json] | None = None,
    attached: Json = None,
    indices: Sequence[Json] | None = None,
) -> list[Job]:
    """Trees and traces paired, up to the shorter of the two. Without ``indices`` samples are counted from 0.

    Quirk of spec 4: a sample beyond the end of ``attached`` gets the whole list, and one text, which names one file,
    goes to every sample; without any list it gets null.
    """
    return [
        Job(
            indices[place] if indices else place,
            tree,
            trace,
            origin_prompts[place] if origin_prompts is not None and place < len(origin_prompts) else None,
            attached[place] if isinstance(attached, list) and place < len(attached) else attached,
        )
        for place, (tree, trace) in enumerate(zip(trees, traces, strict=False))
    ]


def detail(index: Json, root: Value, verdicts: Sequence[Verdict]) -> dict[str, Json]:
    """One sample's entry in ``details``. ``verdicts``: one per leaf in judging order."""
    nodes = [
        {"id": leaf.node.id, "score": verdict.score, "analysis": verdict.analysis}
        for leaf, verdict in zip(leaf_values(root), verdicts, strict=True)
    ]
    return {"sample_index": index, "score": root.value, "nodes": nodes}


def leaf_values(root: Value) -> list[Value]:
    """The leaves of a tree of values in judging order."""
    return [leaf for child in root.children for leaf in leaf_values(child)] if root.children else [root]


def run_result(details: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The whole result: ``gpt_score`` is the mean root score, 0 for an empty run."""
    scores = [one["score"] for one in details]
    return {
        "gpt_score": math.fsum(scores) / len(scores) if scores else 0.0,
        "sample_scores": scores,
        "details": list(details),
    }
