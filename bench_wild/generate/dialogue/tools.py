"""The tool simulator and the rule that checks it (wild spec 9.5)."""

from __future__ import annotations

from typing import Any

from bench_wild.generate.dialogue.dialogue import MARKS, fence, fenced_json, speaker, spoken
from bench_wild.generate.dialogue.scene import DialogueFails, Scene

ATTEMPTS = 3


async def simulate(scene: Scene, actions: list[dict[str, Any]]) -> None:
    """Results for all actions of a list. Raises DialogueFails when three replies were refused."""
    prompt = scene.texts.prompt("tool", scene.slots())
    problem = ""
    for _ in range(ATTEMPTS):
        scene.switch("tool")
        reply = await scene.ask("tool", prompt)
        problem = check_results(reply, len(actions))
        if not problem:
            scene.keep("tool", prompt, reply)
        scene.say("tool", reply)
        if not problem:
            return
        scene.switch("checker_tool")
        verdict = {"format_analysis": problem, "correct": "no"}
        scene.say("checker_tool", f"{MARKS[scene.language]['checker_tool']}\n{fence(verdict)}")
    raise DialogueFails("results refused", f"{ATTEMPTS} tool results in a row were refused, the last because {problem}")


def check_results(reply: str, actions: int) -> str:
    """Why the simulated results cannot be taken; empty: they can."""
    if speaker(reply) != "tool":
        return "the text does not begin with Tool:"
    found = fenced_json(spoken(reply))
    observations = found.get("Observation_List") if isinstance(found, dict) else None
    if not isinstance(observations, list):
        return "there is no JSON object with an Observation_List behind Tool:"
    if len(observations) != actions:
        return f"there are {len(observations)} observations for {actions} actions"
    return ""
