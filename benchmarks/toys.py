"""Toy benchmarks of our own beside that of the tests: an agent loop, and cases that ask nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from agentgauge.agent.loop import use_tools
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import Score
from tests.plugin.toy import toy

TURNS = 5
CALLS = 4


class Instant:
    """A box with one tool, which answers at once."""

    tools: ClassVar[Mapping[str, Tool]] = {
        "Look": Tool("Look", "Looks a word up.", (Parameter("text", "word", "the word"),), (Parameter("text"),))
    }

    async def catalog(self) -> Mapping[str, Tool]:
        return self.tools

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        return (ToolOutput("text", f"{arguments['word']} is a word"),)

    async def close(self) -> None: ...


async def _use_tools(case):
    from agentgauge.agent.native import Native

    case.toolbox = Instant()
    memory = [{"role": "user", "content": f"say {case.sample.payload['say']}"}]
    uses = await use_tools(case, Native("say something", "no such tool"), Instant.tools, memory, max_turns=TURNS)
    return {"answers": sum(exchange.outputs is not None for exchange in uses.exchanges)}


def _count_answers(sample, output, scoring, similarity):
    passed = bool(output) and output["answers"] == TURNS * CALLS
    return Score(passed, {"right": float(passed), "all": 1.0}, explanation=f"{output}")


AGENT = toy(run=_use_tools, score=_count_answers)
"""The model calls tools in every one of its turns; right where each call was made and answered."""


async def _say_right(case):
    return {"answer": case.sample.payload["say"]}


SILENT = toy(run=_say_right)
"""Asks no model: what is left is the harness."""


def _half_wrong(sample, output, scoring, similarity):
    passed = sample.position % 2 == 0
    return Score(passed, {"right": float(passed), "all": 1.0}, explanation="expected another answer; " * 30)


HALF_WRONG = toy(run=_say_right, score=_half_wrong)
"""Every second answer is wrong, with an explanation of the length that those of WildToolBench have."""
