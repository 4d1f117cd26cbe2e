"""The replies of the agent and the tool simulator, and the rule that checks the simulator (wild spec 9.5)."""

from __future__ import annotations

import re
from typing import Any, Literal

from bench_wild.generate.dialogue.dialogue import MARKS, fence, strict_json
from bench_wild.generate.dialogue.dialogue_state import DialogueError, DialogueState

_FENCE = re.compile(r"```(?:markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)


async def speak(state: DialogueState, agent: Literal["agent_ask", "agent_answer", "agent_answer_chat"]) -> None:
    """A question, a summary of results, or an answer out of its own knowledge.

    The text stays as it was written, but for a Markdown fence around it: one that does not begin with the agent's mark
    is not recognised afterwards. Raises DialogueError for an empty one.
    """
    state.switch("agent")
    prompt = state.texts.prompt(agent, state.slots())
    reply = await state.ask("agent", prompt)
    text = without_fence(reply)
    if not text:
        raise DialogueError("empty reply", f"{agent} wrote nothing")
    state.keep(agent, prompt, text)
    state.add_message("agent", text)


def without_fence(text: str) -> str:
    """A text without the Markdown fence around all of it, or around everything after its mark. Fences inside stay."""
    mark = re.match(r"\s*Agent(?: Assistant|助手)?\s*[:：]\s*", text)
    body = text[mark.end() :] if mark else text
    whole = _FENCE.fullmatch(body.strip())
    if whole is None or "```" in whole[1]:
        return text.strip()
    inner = whole[1].strip()
    return f"{mark[0].strip()} {inner}" if mark else inner


ATTEMPTS = 3


async def simulate(state: DialogueState, actions: list[dict[str, Any]]) -> None:
    """Results for all actions of a list. Raises DialogueError when three replies were refused."""
    prompt = state.texts.prompt("tool", state.slots())
    problem = ""
    for _ in range(ATTEMPTS):
        state.switch("tool")
        reply = await state.ask("tool", prompt)
        problem = check_results(reply, len(actions))
        if not problem:
            state.keep("tool", prompt, reply)
        state.add_message("tool", reply)
        if not problem:
            return
        state.switch("checker_tool")
        verdict = {"format_analysis": problem, "correct": "no"}
        state.add_message("checker_tool", f"{MARKS[state.language]['checker_tool']}\n{fence(verdict)}")
    raise DialogueError("results refused", f"{ATTEMPTS} tool results in a row were refused, the last because {problem}")


def check_results(reply: str, actions: int) -> str:
    """Why the simulated results cannot be accepted; empty if they can."""
    found = strict_json(reply)
    observations = found.get("Observation_List") if isinstance(found, dict) else None
    if not isinstance(observations, list):
        return "there is no ```json fence whose object has an Observation_List"
    if len(observations) != actions:
        return f"there are {len(observations)} observations for {actions} actions"
    return ""
