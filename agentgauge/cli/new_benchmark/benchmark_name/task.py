"""The task: its prompt, the scoring of a reply, and its figures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge import Case, ChatReply, ChatRequest, MetricFormula, Oracle, PublishedRows, Sample, Score, Task

from benchmark_name.data import Questions
from benchmark_name.score import MARK, score_reply

PROMPT = f"Solve the puzzle. End your reply with a line that reads: {MARK} and the answer alone."


class Puzzles(Task, Oracle, PublishedRows):
    name = "benchmark_name"  # also a marker: pytest -m benchmark_name
    data = Questions()
    published_dialects = ("native",)

    async def run(self, case: Case) -> dict[str, str]:
        """Solve one sample. The return value is stored, and ``score`` gets nothing else."""
        question = case.sample.payload["question"]
        reply = await case.ask([{"role": "system", "content": PROMPT}, {"role": "user", "content": question}])
        return {"reply": reply.text}

    def score(self, sample: Sample, output: dict[str, str] | None, scoring: str, similarity: str) -> Score:
        """``output`` is None for a case that a fault of the endpoint has broken."""
        return score_reply(output["reply"] if output else "", sample.payload["answer"])

    def metrics(self, scoring: str) -> MetricFormula:
        """Accuracy in per cent, and the value that makes up its denominator."""
        return MetricFormula(_accuracy, {"Accuracy": ("all",)})

    def oracle(self, sample: Sample, request: ChatRequest, *, one_call: bool = False) -> ChatReply:
        """The gold, for ``--model=oracle``."""
        return ChatReply(f"{MARK} {sample.payload['answer']}")

    def published_rows(self) -> list[Mapping[str, Any]]:
        published = json.loads((Path(__file__).parent / "published.json").read_text(encoding="utf-8"))
        return [{"edition": published["edition"], **row} for row in published["rows"]]


def _accuracy(sums: Mapping[str, float]) -> dict[str, float | None]:
    return {"Accuracy": 100 * sums["right"] / sums["all"] if sums.get("all") else None}


TASKS = (Puzzles(),)
