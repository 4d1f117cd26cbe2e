"""The user: writes the tasks, and answers or evades what the agent asks (wild spec 9.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench_wild.generate.dialogue.checker import required
from bench_wild.generate.dialogue.dialogue import TaskType, fenced_json
from bench_wild.generate.dialogue.dialogue_state import DialogueError, DialogueState
from bench_wild.generate.dialogue.texts import CONTINUE, FIRST_TASKS, KINDS
from bench_wild.generate.dialogue.toolset import as_text

ANSWERS = 0.75
"""The share of questions that the user answers; the user evades the others."""

_DESCRIPTION = ("description", "Task Description", "task", "任务描述", "任务", "描述")
"""Where a task of several tools keeps its text, in the order in which they are looked for."""


async def first_task(state: DialogueState, wanted: TaskType) -> None:
    """The first task of a dialogue. Raises DialogueError where the reply holds none."""
    agents = FIRST_TASKS[wanted]
    agent = state.chance.choice(agents) if len(agents) > 1 else agents[0]
    more = {}
    if agent == "user_single_tool":
        more["tool"] = as_text([state.chance.choice(state.tools[:-2])])
    elif agent == "user_ask":  # where nothing is required, nothing can be missing
        more["tool"] = as_text(
            [state.chance.choice([tool for tool in state.tools[:-2] if required(tool["function"])] or state.tools[:-2])]
        )
    prompt = state.texts.prompt(agent, state.slots(**more))
    reply = await state.ask("user", prompt)
    task = state.chance.choice(_tasks(agent, reply))
    state.keep(agent, prompt, reply)
    state.add_user_message(task)


def _tasks(agent: str, reply: str) -> list[str]:
    """The tasks of ``{"Task 1": ..., "Task 2": ...}``: texts, or objects with a description whose plan is not kept."""
    found = fenced_json(reply)
    if not isinstance(found, Mapping):
        raise DialogueError("no tasks", f"{agent} wrote no JSON object of tasks: {reply[:80]!r}")
    tasks = [text for value in found.values() if (text := _text(value))]
    if not tasks:
        raise DialogueError("no tasks", f"{agent} wrote an object without a task: {reply[:80]!r}")
    return tasks


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in _DESCRIPTION if key in value), None)
    return value.strip() if isinstance(value, str) else ""


async def follow_up(state: DialogueState, wanted: TaskType) -> str:
    """A further task after a solved one, introduced by a switch message. Returns the variant, drawn out of the 22."""
    kind = state.chance.choice(list(KINDS))
    await _speak(state, CONTINUE, state.texts.follow_up(kind, wanted, state.slots()))
    return kind


async def reply_to_question(state: DialogueState) -> None:
    """A reply to a question: in three of four cases everything that the agent asked for, else something vague."""
    agent = "user_answer_ask" if state.chance.random() < ANSWERS else "user_vague_answer_ask"
    await _speak(state, agent, state.texts.prompt(agent, state.slots()))


async def _speak(state: DialogueState, agent: str, prompt: str) -> None:
    state.switch("user")
    reply = await state.ask("user", prompt)
    state.keep(agent, prompt, reply)
    state.add_user_message(re.sub(r"^```\w*\n(.*)\n```$", r"\1", reply, flags=re.DOTALL))
