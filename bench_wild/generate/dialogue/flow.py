"""The control flow of one dialogue: the order of the speakers (wild spec 9.4)."""

from __future__ import annotations

from collections.abc import Sequence

from bench_wild.generate.dialogue import users
from bench_wild.generate.dialogue.dialogue import Dialogue, TaskType, Turn
from bench_wild.generate.dialogue.planner import plan
from bench_wild.generate.dialogue.replies import simulate, speak
from bench_wild.generate.dialogue.scene import Scene
from bench_wild.generate.dialogue.texts import KINDS
from bench_wild.labels import ASK, PREPARE

ROUNDS = 100
"""At most so many rounds in a task. A task that is not done then stays unfinished."""


async def play(scene: Scene, sequence: Sequence[TaskType], seed: int) -> Dialogue:
    """A whole dialogue. Raises DialogueFails, and the Fault of an endpoint."""
    turns: list[Turn] = []
    for number, wanted in enumerate(sequence):
        start, kind = len(scene.messages), "first"
        if number == 0:
            await users.first_task(scene, wanted)
        else:
            kind = await users.follow_up(scene, wanted)
        await _solve(scene)
        turns.append(Turn(wanted, kind, KINDS.get(kind, "first"), start, len(scene.messages)))
    return Dialogue(tuple(sequence), scene.language, seed, scene.tools, scene.env_info, scene.messages, tuple(turns))


async def _solve(scene: Scene) -> None:
    """One task, from the user's words to the answer. A message whose speaker is not recognised ends it, as in the
    original."""
    for _ in range(ROUNDS):
        if scene.last in ("user", "tool", "checker_tool"):
            actions = await plan(scene)
            first = actions[0]
            if first["name"] == ASK:
                await speak(scene, "agent_ask")
            elif first["name"] == PREPARE:
                await speak(
                    scene, "agent_answer" if first["arguments"]["answer_type"] == "tool" else "agent_answer_chat"
                )
                return
            else:
                await simulate(scene, actions)
        elif scene.last == "agent":
            await users.reply_to_question(scene)
        else:
            return
