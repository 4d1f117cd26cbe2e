"""The control flow of one dialogue: the order of the speakers (wild spec 9.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench_wild.generate.dialogue import users
from bench_wild.generate.dialogue.dialogue import Dialogue, TaskType, Turn
from bench_wild.generate.dialogue.dialogue_state import DialogueState
from bench_wild.generate.dialogue.planner import plan
from bench_wild.generate.dialogue.replies import simulate, speak
from bench_wild.generate.dialogue.texts import KINDS
from bench_wild.labels import ASK, PREPARE

ROUNDS = 100
"""At most so many rounds in a task: a plan is one, what is done by it another. A task that is not done then stays
unfinished."""


async def play(state: DialogueState, sequence: Sequence[TaskType], seed: int) -> Dialogue:
    """A whole dialogue. Raises DialogueError, and the Fault of an endpoint."""
    turns: list[Turn] = []
    for number, wanted in enumerate(sequence):
        start, kind = len(state.messages), "first"
        if number == 0:
            await users.first_task(state, wanted)
        else:
            kind = await users.follow_up(state, wanted)
        await _solve(state)
        turns.append(Turn(wanted, kind, KINDS.get(kind, "first"), start, len(state.messages)))
    return Dialogue(tuple(sequence), state.language, seed, state.tools, state.env_info, state.messages, tuple(turns))


async def _solve(state: DialogueState) -> None:
    """One task, from the user's words to the answer. A message whose speaker is not recognised ends it, as in the
    original."""
    planned: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        last = state.last
        actions, planned = planned, []
        if last in ("user", "tool", "checker_tool"):
            planned = await plan(state)
        elif last == "agent":
            await users.reply_to_question(state)
        elif last != "planner" or not actions:
            return
        elif actions[0]["name"] == ASK:
            await speak(state, "agent_ask")
        elif actions[0]["name"] == PREPARE:
            kind = actions[0]["arguments"]["answer_type"]
            await speak(state, "agent_answer" if kind == "tool" else "agent_answer_chat")
            return
        else:
            await simulate(state, actions)
