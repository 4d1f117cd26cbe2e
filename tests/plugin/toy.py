"""A benchmark of one question a sample, for tests of the plugin: "say N" is answered right by N."""

from __future__ import annotations

import json
from pathlib import Path

from agentgauge.core.chat import ChatReply
from agentgauge.core.estimate import MetricFormula
from agentgauge.core.index import build_index, line_entries
from agentgauge.core.presentation import Presentation
from agentgauge.core.published import Published
from agentgauge.core.task import DataSource, Task
from agentgauge.core.types import Sample, Score


def describe(entry):
    return entry.value["id"], ("odd" if int(entry.key) % 2 else "even",)


class ToyData(DataSource):
    name = "toy"
    files = ("toy.jsonl",)
    bundled = Path(__file__).parent / "toy_data"

    def index(self, root):
        return build_index([root / "toy.jsonl"], line_entries, describe)

    def load(self, index, row, task):
        return Sample(row.id, task, row.tags, json.loads(row.text), index.root, row.position)


async def say(case):
    reply = await case.ask([{"role": "user", "content": f"say {case.sample.payload['say']}"}])
    return {"answer": reply.text}


def score(sample, output, scoring, similarity):
    expected, got = sample.payload["say"], output and output["answer"]
    return Score(
        got == expected,
        {"right": float(got == expected), "all": 1.0},
        explanation=f"expected {expected!r}, got {got!r}",
    )


def metrics(scoring):
    return MetricFormula(
        lambda sums: {"Acc": 100 * sums["right"] / sums["all"] if sums.get("all") else None}, {"Acc": ("all",)}
    )


def oracle(sample, request, *, one_call=False):
    return ChatReply(sample.payload["say"])


def toy(*, shown=None, **changes):
    """The task with other parts; ``shown``: arguments of its presentation."""
    parts = {
        "name": "toy.say",
        "data": ToyData(),
        "run": say,
        "score": score,
        "metrics": metrics,
        "dialects": ("native", "react"),  # it offers no tools, so that a request is the same in both
        "presentation": Presentation(**{"benchmark": "Toy", "title": "say it", "columns": ("Acc",), **(shown or {})}),
        "published": Published(dialects=("native",)),
        "oracle": oracle,
    }
    return Task(**(parts | changes))


TOY = toy()
