"""The user: writes the tasks, and answers or evades what the agent asks (wild spec 9.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench_wild.generate.dialogue.checker import required
from bench_wild.generate.dialogue.dialogue import TaskType, fenced_json
from bench_wild.generate.dialogue.scene import DialogueFails, Scene
from bench_wild.generate.dialogue.texts import CONTINUE, FIRST_TASKS, KINDS
from bench_wild.generate.dialogue.toolset import as_text

ANSWERS = 0.75
"""The share of questions that the user answers; the user evades the others."""

_DESCRIPTION = ("description", "task", "任务描述", "任务", "描述")
"""Where a task of several tools keeps its text, in the order in which they are looked for."""


async def first_task(scene: Scene, wanted: TaskType) -> None:
    """The first task of a dialogue. Raises DialogueFails where the reply holds none."""
    agents = FIRST_TASKS[wanted]
    agent = scene.chance.choice(agents) if len(agents) > 1 else agents[0]
    more = {}
    if agent == "user_single_tool":
        more["tool"] = as_text([scene.chance.choice(scene.tools[:-2])])
    elif agent == "user_ask":  # where nothing is required, nothing can be missing
        more["tool"] = as_text(
            [scene.chance.choice([tool for tool in scene.tools[:-2] if required(tool["function"])] or scene.tools[:-2])]
        )
    prompt = scene.texts.prompt(agent, scene.slots(**more))
    reply = await scene.ask("user", prompt)
    task = scene.chance.choice(_tasks(agent, reply))
    scene.keep(agent, prompt, reply)
    scene.say_as_user(task)


def _tasks(agent: str, reply: str) -> list[str]:
    """The tasks of ``{"Task 1": ..., "Task 2": ...}``: texts, or objects with a description whose plan is not kept."""
    found = fenced_json(reply)
    if not isinstance(found, Mapping):
        raise DialogueFails("no tasks", f"{agent} wrote no JSON object of tasks: {reply[:80]!r}")
    tasks = [text for value in found.values() if (text := _text(value))]
    if not tasks:
        raise DialogueFails("no tasks", f"{agent} wrote an object without a task: {reply[:80]!r}")
    return tasks


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in _DESCRIPTION if key in value), None)
    return value.strip() if isinstance(value, str) else ""


async def follow_up(scene: Scene, wanted: TaskType) -> str:
    """A further task after a solved one, introduced by a switch message. Returns the variant, drawn out of the 22."""
    kind = scene.chance.choice(list(KINDS))
    await _speak(scene, CONTINUE, scene.texts.follow_up(kind, wanted, scene.slots()))
    return kind


async def reply_to_question(scene: Scene) -> None:
    """A reply to a question: in three of four cases everything that the agent asked for, else something vague."""
    agent = "user_answer_ask" if scene.chance.random() < ANSWERS else "user_vague_answer_ask"
    await _speak(scene, agent, scene.texts.prompt(agent, scene.slots()))


async def _speak(scene: Scene, agent: str, prompt: str) -> None:
    scene.switch("user")
    reply = await scene.ask("user", prompt)
    scene.keep(agent, prompt, reply)
    scene.say_as_user(re.sub(r"^```\w*\n(.*)\n```$", r"\1", reply, flags=re.DOTALL))
