"""The texts of the two-stage mathematics tasks. The release has neither prompts nor files for them: they are ours,
after the paper's description (MMAU spec 1.1, 5.2). Every other prompt is in the data or beside its metric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.conversation import fill
from agentgauge.agent.framing import FRAMED
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_text
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

JUDGE = "math_judge"
TEXTS: Mapping[str, str] = {
    "math_plan": MATH_PLAN,
    "math_solve": MATH_SOLVE,
    JUDGE: GRADER,
    "contest_solver": SOLVER,
}
"""What a folder of texts may replace, one file each: ``mmau_math_judge.txt`` and so on."""

OURS = "a384965a948a"
"""The version of our texts, the judge's aside: a digest of all as they were when there was one for all tasks, so that
the runs of that time can be gone on with. Whoever changes one of the other texts gives this another value.
"""

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


def version(folder: Path | None, used: Collection[str]) -> str:
    """A fingerprint of what a task asks with: runs with different texts are not the same run.

    ``used``: the names of the task's texts.
    """
    texts = load(folder)
    if JUDGE not in used and all(texts[name] == TEXTS[name] for name in used):
        return OURS
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12]
    return f"{digest}{FRAMED}" if JUDGE in used and has_frame(texts[JUDGE]) else digest


def plan_request(record: Mapping[str, Any], template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]))}]


def solve_request(record: Mapping[str, Any], plan: str, template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]), plan=plan)}]
