"""A benchmark of one question a sample, for tests of the plugin: "say N" is answered right by N."""

from __future__ import annotations

import json
from pathlib import Path

from agentgauge.core.chat import ChatReply
from agentgauge.core.estimate import Recipe
from agentgauge.core.index import build_index, line_entries
from agentgauge.core.task import Task
from agentgauge.core.types import Sample, Score


class Toy(Task):
    name = "toy.say"
    benchmark = "Toy"
    title = "say it"
    data_set = "toy"
    data_files = ("toy.jsonl",)
    columns = ("Acc",)
    published = ("Acc",)
    published_dialect = "native"
    mini = Path(__file__).parent / "toy_data"

    def index(self, root):
        def describe(entry):
            return entry.value["id"], ("odd" if int(entry.key) % 2 else "even",)

        return build_index([root / "toy.jsonl"], line_entries, describe, kind="toy 1")

    def load(self, index, row):
        return Sample(row.id, self.name, row.tags, json.loads(index.read(row)), index.root, row.position)

    async def run(self, case):
        reply = await case.ask([{"role": "user", "content": f"say {case.sample.payload['say']}"}])
        return {"answer": reply.text}

    def score(self, sample, output, scoring, similarity):
        expected, got = sample.payload["say"], output and output["answer"]
        return Score(
            got == expected,
            {"right": float(got == expected), "all": 1.0},
            explanation=f"expected {expected!r}, got {got!r}",
        )

    def recipe(self, scoring):
        return Recipe(
            lambda sums: {"Acc": 100 * sums["right"] / sums["all"] if sums.get("all") else None}, {"Acc": ("all",)}
        )

    def oracle(self, sample, request):
        return ChatReply(sample.payload["say"])

    def score_files(self, samples, predictions, *, scoring, similarity):
        raise NotImplementedError

    def prompt_version(self, folder):
        return "1"
