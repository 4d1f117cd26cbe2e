"""The planner decides the next calls. A checker checks each plan; three refused plans end the dialogue (wild spec
9.4)."""

from __future__ import annotations

from typing import Any

from bench_wild.generate.dialogue.checker import Verdict, check_plan, needs_judge, read_judgement
from bench_wild.generate.dialogue.dialogue import MARKS, fence, strict_json
from bench_wild.generate.dialogue.dialogue_state import DialogueError, DialogueState
from bench_wild.labels import ASK

ATTEMPTS = 3
JUDGEMENTS = 5
"""A judgement that speaks of the ask action is asked for again, so many times at most."""


async def plan(state: DialogueState) -> list[dict[str, Any]]:
    """The accepted list of actions, ``{"name", "arguments", ...}``. Raises DialogueError when three plans were
    refused."""
    after_tool = state.last == "tool"
    prompt = state.texts.prompt("planner", state.slots())
    verdict = Verdict()
    for _ in range(ATTEMPTS):
        state.switch("planner")
        reply = await state.ask("planner", prompt, role="user")
        request = state.request("planner", prompt, reply, role="user")
        state.add_message("planner", reply)
        state.switch("checker_planner")
        verdict = check_plan(reply, state.tools, after_tool=after_tool)
        if verdict.accepted and needs_judge(reply):
            verdict = await _judge(state, verdict)
        if verdict.accepted:
            state.drop_switch()
            state.kept.append(request)  # behind its judgement
            actions: list[dict[str, Any]] = strict_json(reply)["Action_List"]
            return actions
        state.add_message("checker_planner", f"{MARKS[state.language]['checker_planner']}\n{fence(verdict.to_json())}")
    raise DialogueError("plan refused", f"{ATTEMPTS} plans in a row were refused, the last because {verdict.why()}")


async def _judge(state: DialogueState, verdict: Verdict) -> Verdict:
    """What a model says about calling in parallel or one after the other."""
    prompt = state.texts.prompt("checker_planner", state.slots())
    for _ in range(JUDGEMENTS):
        reply = await state.ask("checker", prompt)
        if ASK not in reply:
            break
    else:
        raise DialogueError("no judgement", f"{JUDGEMENTS} judgements in a row mentioned {ASK}")
    judged = read_judgement(reply)
    if judged is None:
        raise DialogueError(
            "no judgement", f"the checker wrote no JSON with tool_call_analysis and correct: {reply[:80]!r}"
        )
    state.keep("checker_planner", prompt, reply)
    return verdict.with_judgement(*judged)
