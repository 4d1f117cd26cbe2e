"""What a judge is sent of one leaf, in our own wording (GTA-Workflow spec 3.1).

A folder of texts can replace it: ``workflow_judge.txt``, with the slots {task}, {answer} and {requirement}, once each.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from string import Formatter

from agentgauge.core.errors import UsageProblem
from bench_gta.workflow.judging.fields import Fields

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


def load_template(folder: Path | None) -> str:
    """The built-in text, or the one in ``folder``. Raises UsageProblem for an unusable one."""
    file = folder / FILE if folder else None
    if file is None or not file.is_file():
        return JUDGE
    accepted = (
        f"the slots are {', '.join(f'{{{slot}}}' for slot in SLOTS)}, once each, and a literal brace is written twice"
    )
    try:
        template = file.read_text(encoding="utf-8").removesuffix("\n")
        found = [
            (name, spec, conversion) for _, name, spec, conversion in Formatter().parse(template) if name is not None
        ]
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{file} cannot be used: {error}; {accepted}") from None
    if sorted(found, key=str) != sorted(((slot, "", None) for slot in SLOTS), key=str):
        raise UsageProblem(
            f"{file} cannot be used: it has the slots {', '.join(name for name, _, _ in found) or 'none'}; {accepted}"
        )
    return template


def leaf_prompt(template: str, fields: Fields) -> str:
    """The text for one leaf."""
    return template.format(task=fields.task, answer=fields.final_answer, requirement=fields.requirement)


def version(template: str) -> str:
    """A fingerprint: scores by different texts are not comparable."""
    return hashlib.sha256(template.encode()).hexdigest()[:12]
