"""The agent: what the user gets to read (wild spec 9.5)."""

from __future__ import annotations

import re
from typing import Literal

from bench_wild.generate.dialogue.scene import DialogueFails, Scene

_FENCE = re.compile(r"```(?:markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)


async def speak(scene: Scene, agent: Literal["agent_ask", "agent_answer", "agent_answer_chat"]) -> None:
    """A question, a summary of results, or an answer out of its own knowledge.

    The text stays as it was written, but for a Markdown fence around it: one that does not begin with the agent's mark
    is not recognised afterwards. Raises DialogueFails for an empty one.
    """
    scene.switch("agent")
    prompt = scene.texts.prompt(agent, scene.slots())
    reply = await scene.ask("agent", prompt)
    text = without_fence(reply)
    if not text:
        raise DialogueFails("empty reply", f"{agent} wrote nothing")
    scene.keep(agent, prompt, reply)
    scene.say("agent", text)


def without_fence(text: str) -> str:
    """A text without the Markdown fence that holds all of it, or all behind its mark. Fences inside stay."""
    mark = re.match(r"\s*Agent\s*[:：]\s*", text)
    body = text[mark.end() :] if mark else text
    whole = _FENCE.fullmatch(body.strip())
    if whole is None or "```" in whole[1]:
        return text.strip()
    inner = whole[1].strip()
    return f"{mark[0].strip()} {inner}" if mark else inner
