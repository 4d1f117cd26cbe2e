"""The planner decides the next calls. A checker checks each plan; three refused plans end the dialogue (wild spec
9.4)."""

from __future__ import annotations

from typing import Any

from bench_wild.generate.dialogue.checker import Verdict, check_plan, needs_judge, read_judgement
from bench_wild.generate.dialogue.dialogue import MARKS, fence, fenced_json, spoken
from bench_wild.generate.dialogue.scene import DialogueFails, Scene
from bench_wild.labels import ASK

ATTEMPTS = 3
JUDGEMENTS = 5
"""A judgement that speaks of the ask action is asked for again, so many times at most."""


async def plan(scene: Scene) -> list[dict[str, Any]]:
    """The accepted list of actions, ``{"name", "arguments", ...}``. Raises DialogueFails when three plans were
    refused."""
    after_tool = scene.last == "tool"
    prompt = scene.texts.prompt("planner", scene.slots())
    verdict = Verdict()
    for _ in range(ATTEMPTS):
        scene.switch("planner")
        reply = await scene.ask("planner", prompt, role="user")
        scene.keep("planner", prompt, reply, role="user")
        scene.say("planner", reply)
        scene.switch("checker_planner")
        place = len(scene.kept) - 1
        verdict = check_plan(reply, scene.tools, after_tool=after_tool)
        if verdict.accepted and needs_judge(reply):
            verdict = await _judge(scene, verdict)
        if verdict.accepted:
            scene.drop_switch()
            actions: list[dict[str, Any]] = fenced_json(spoken(reply))["Action_List"]
            return actions
        del scene.kept[place]  # the judgement behind it stays
        scene.say("checker_planner", f"{MARKS[scene.language]['checker_planner']}\n{fence(verdict.to_json())}")
    raise DialogueFails("plan refused", f"{ATTEMPTS} plans in a row were refused, the last because {verdict.why()}")


async def _judge(scene: Scene, verdict: Verdict) -> Verdict:
    """What a model says about calling in parallel or one after the other."""
    prompt = scene.texts.prompt("checker_planner", scene.slots())
    for _ in range(JUDGEMENTS):
        reply = await scene.ask("checker", prompt)
        if ASK not in reply:
            break
    else:
        raise DialogueFails("no judgement", f"{JUDGEMENTS} judgements in a row mentioned {ASK}")
    judged = read_judgement(reply)
    if judged is None:
        raise DialogueFails(
            "no judgement", f"the checker wrote no JSON with tool_call_analysis and correct: {reply[:80]!r}"
        )
    scene.keep("checker_planner", prompt, reply)
    return verdict.with_judgement(*judged)
