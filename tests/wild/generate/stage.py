"""A scene whose models say what a test wrote down for them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from bench_wild.generate.play import DialogueState, ModelRole, new_state, play
from bench_wild.generate.texts import load_texts
from bench_wild.generate.transcript import Language, TaskType, fence
from bench_wild.labels import ASK, PREPARE

TIDE = {
    "type": "function",
    "function": {
        "name": "getTide",
        "description": "Tide of a French port.",
        "parameters": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
    },
}

CALL = {"name": "getTide", "arguments": {"port": "Brest"}}
ASKS = {"name": ASK, "arguments": {"tool_name": "getTide", "missing_required_parameters": ["port"]}}
DONE = {"name": PREPARE, "arguments": {"answer_type": "tool"}}
CHAT = {"name": PREPARE, "arguments": {"answer_type": "chat"}}


def tasks(text: str = "the tide at Brest?") -> str:
    return fence({f"Task {number}": text for number in range(1, 6)})


def plan(*actions: Any, thought: str = "Now.") -> str:
    return "Planner:\n" + fence(
        {"Mission_Finish": "no", "Thought": thought, "Plan": "Now.", "Action_List": list(actions)}
    )


def result(count: int = 1) -> str:
    return "Tool:\n" + fence({"Observation_List": [{"status_code": 200, "response": {"metres": 4}}] * count})


def judge(word: str) -> str:
    return fence(
        {"tool_call_analysis": "as it should be" if word == "yes" else "they wait for each other", "correct": word}
    )


class Stage:
    """``replies`` are what the models say, in order; ``asked`` the requests that came."""

    def __init__(
        self, replies: Sequence[str], *, language: Language = "en", seed: int = 0, users: tuple[str, ...] = ("u",)
    ) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, str, list[dict[str, Any]]]] = []  # part, model, messages
        cast: dict[ModelRole, tuple[str, ...]] = {
            "user": users,
            "planner": ("p",),
            "tool": ("t",),
            "agent": ("a",),
            "checker": ("c",),
        }
        self.texts = load_texts(language)
        self.state: DialogueState = new_state([[TIDE]], language, self.texts, cast, self._ask, random.Random(seed))

    async def _ask(self, part: str, name: str, messages: Any) -> str:
        self.asked.append((part, name, [dict(message) for message in messages]))
        return self.replies.pop(0)

    def play(self, *sequence: TaskType) -> Any:
        """The dialogue; every reply must have been used."""
        dialogue = asyncio.run(play(self.state, sequence, 0))
        assert not self.replies, "some replies were not asked for"
        return dialogue

    @property
    def parts(self) -> list[str]:
        return [part for part, _, _ in self.asked]

    @property
    def agents(self) -> list[str]:
        """Names of the prompts that were used."""
        titles = {text.splitlines()[0]: name for name, text in self.texts.prompts.items()}
        return [titles[messages[0]["content"].splitlines()[0]] for _, _, messages in self.asked]
