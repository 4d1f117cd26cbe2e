"""The texts of the two-stage mathematics tasks. The release has neither prompts nor files for them: they are ours,
after the paper's description (MMAU spec 1.1, 5.2). Every other prompt is in the data or beside its metric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.conversation import fill
from agentgauge.agent.framing import UNFRAMED
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text_files import read_text
from bench_mmau.contests.prompts import SOLVER
from bench_mmau.mathematics import GRADER, has_frame

MATH_PLAN = """Below is a mathematics problem. Do not solve it. Write a plan for solving it: a few numbered steps, \
each with what is to be computed and how, so that somebody who follows them reaches the answer. Compute nothing \
yourself.

#PROBLEM#: {problem}

#PLAN#:"""

MATH_SOLVE = """Below are a mathematics problem and a plan for solving it. Follow the plan.

#PROBLEM#: {problem}

#PLAN#: {plan}

Write your solution in two parts. Behind #THOUGHTS# go through the plan step by step, in a few sentences. Behind \
#ANSWER#: give the answer and nothing else."""

TEXTS: Mapping[str, str] = {
    "math_plan": MATH_PLAN,
    "math_solve": MATH_SOLVE,
    "math_judge": GRADER,
    "contest_solver": SOLVER,
}
"""What a folder of texts may replace, one file each: ``mmau_math_judge.txt`` and so on."""

PREFIX = "mmau_"


def load(folder: Path | None) -> dict[str, str]:
    """The texts, replaced by the texts in ``folder``. Raises UsageProblem for a file with our prefix that is unknown or
    unreadable."""
    texts = dict(TEXTS)
    for file in sorted(folder.glob(f"{PREFIX}*.txt")) if folder else ():
        name = file.stem.removeprefix(PREFIX)
        if name not in texts:
            raise UsageProblem(
                f"{file} is not a prompt text; accepted are {', '.join(f'{PREFIX}{one}.txt' for one in TEXTS)}"
            )
        try:
            texts[name] = read_text(file).removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    return texts


def version(folder: Path | None) -> str:
    """A fingerprint: runs with different texts are not the same run."""
    texts = load(folder)
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12]
    return digest if has_frame(texts["math_judge"]) else f"{digest}{UNFRAMED}"


def plan_request(record: Mapping[str, Any], template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]))}]


def solve_request(record: Mapping[str, Any], plan: str, template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]), plan=plan)}]
