"""The prompt for the judgement of one leaf, in our own wording (GTA-Workflow spec 3.1).

A folder of texts can replace it: ``workflow_judge.txt``, with the slots {task}, {answer} and {requirement}, once each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text_files import read_text
from agentgauge.core.types import Json
from bench_gta.atomic.prompts import slots_of

NO_ANSWER = "(empty)"  # stands for a final answer that is missing
FILE = "workflow_judge.txt"
SLOTS = ("task", "answer", "requirement")

JUDGE = """\
You are a professional evaluator of AI agents. An agent was given a task and has delivered an answer, and perhaps \
files. You see the files it made, as far as they can be shown: documents as PDF, pictures as they are, videos as \
single frames. Of audio you are only told that it exists.

# The task
{task}

# The agent's final answer
{answer}

# The checkpoint to judge
{requirement}

Judge this checkpoint alone, by what was delivered. Give a score from 0 (not met at all) to 10 (fully met). If the \
checkpoint asks for files that are missing, the score must be low.
Reply with JSON and nothing else, in this form:
{{"score": <number from 0 to 10>, "analysis": "<your reasons, in fewer than 80 words>"}}"""


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a prompt, from a task and one leaf."""

    task: str
    final_answer: str  # NO_ANSWER where there is none
    requirement: str  # "(none)" where it is missing


def load_template(folder: Path | None) -> str:
    """The built-in text, or the one in ``folder``. Raises UsageProblem for an unusable one."""
    file = folder / FILE if folder else None
    if file is None or not file.is_file():
        return JUDGE
    accepted = f"the slots are {', '.join(f'{{{slot}}}' for slot in SLOTS)}, once each"
    accepted += ", and a literal brace is written twice"
    try:
        template = read_text(file).removesuffix("\n")
        found = slots_of(template)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{file} cannot be used: {error}; {accepted}") from None
    if sorted(found, key=str) != sorted(((slot, "", None) for slot in SLOTS), key=str):
        has = ", ".join(name for name, _, _ in found) or "none"
        raise UsageProblem(f"{file} cannot be used: it has the slots {has}; {accepted}")
    return template


def version(template: str) -> str:
    """A fingerprint: scores by different texts are not comparable."""
    return hashlib.sha256(template.encode()).hexdigest()[:12]


def leaf_fields(requirement_node: Mapping[str, Json], trace: Json, origin_prompt: Json) -> Fields:
    """The parts for one leaf (GTA-Workflow spec 3.1). Takes every JSON value and raises nothing.

    ``requirement_node``: the leaf as stored. ``trace``: compressed steps, nested in lists as deep as it may be.
    ``origin_prompt``: the user turns' texts, or one text.
    """
    # quirk of spec 3.1: a requirement that is no text appears in Python's notation, null as None
    requirement = str(requirement_node["requirements"]) if "requirements" in requirement_node else "(none)"
    asked = origin_prompt if isinstance(origin_prompt, list) else [] if origin_prompt is None else [origin_prompt]
    return Fields("\n".join(map(str, asked)), final_answer(trace), requirement)


def final_answer(trace: Json) -> str:
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
