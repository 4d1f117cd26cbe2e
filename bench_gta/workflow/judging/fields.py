"""The three variable parts of a leaf's prompt (GTA-Workflow spec 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgauge.core.types import Json

NO_ANSWER = "(empty)"  # stands for a final answer that is missing


@dataclass(frozen=True, slots=True)
class Fields:
    """What a judge is sent of a task and of one leaf."""

    task: str
    final_answer: str  # NO_ANSWER where there is none
    requirement: str  # "(none)" where it is missing


def leaf_fields(requirement_node: Mapping[str, Json], trace: Json, origin_prompt: Json) -> Fields:
    """The parts for one leaf (GTA-Workflow spec 3.1). Takes every JSON value and raises nothing.

    ``requirement_node``: the leaf as stored. ``trace``: compressed steps, nested in lists as deep as it may be.
    ``origin_prompt``: the user turns' texts, or one text.
    """
    # quirk of spec 3.1: a requirement that is no text appears in Python's notation, null as None
    requirement = str(requirement_node["requirements"]) if "requirements" in requirement_node else "(none)"
    return Fields(_task(origin_prompt), _final_answer(trace), requirement)


def _task(origin_prompt: Json) -> str:
    if isinstance(origin_prompt, list):
        return "\n".join(map(str, origin_prompt))
    return "" if origin_prompt is None else str(origin_prompt)


def _final_answer(trace: Json) -> str:
    """The last text of the assistant, or the last plain text, that is not blank. Tool outputs never count."""
    waiting = [trace]
    while waiting:
        step = waiting.pop()
        if isinstance(step, list):
            waiting += step  # the last item is looked at first
            continue
        if isinstance(step, Mapping) and step.get("role") == "assistant":
            step = step.get("content")
        if isinstance(step, str) and step.strip():
            return step.strip()
    return NO_ANSWER
