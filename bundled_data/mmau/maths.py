"""The two files of mathematics: problems of many subjects, drawn with a fixed seed, and simple ones told in a
complicated way."""

from __future__ import annotations

import random
from typing import Any

from bundled_data.mmau.math_subjects import SUBJECTS, TOLD

_SEED = 20240712
_EACH = 2  # problems of a subject

_PROMPT = """Solve the mathematics problem below. Write your reply in two parts. Behind #THOUGHTS# go through your \
solution step by step, in a few sentences. Behind #ANSWER#: give the final answer and nothing else.

#PROBLEM#: {problem}

Your reply has this form:
#THOUGHTS# your steps
#ANSWER#: your answer"""


def files() -> dict[str, list[dict[str, Any]]]:
    """Both files."""
    draw = random.Random(_SEED)
    standard: list[dict[str, Any]] = []
    for subject, make in SUBJECTS.items():
        known: set[str] = set()
        while len(known) < _EACH:
            problem, answer = make(draw)
            if problem not in known:
                known.add(problem)
                standard.append(record(f"math_{subject}_{len(known)}", subject, problem, answer))
    told = []
    for subject, tell in TOLD.items():
        simple, problem, answer = tell(draw)
        told.append({**record(f"math_understand_{subject}", subject, problem, answer), "simple_problem": simple})
    return {"math_standard_20240712.jsonl": standard, "math_understand_20240712.jsonl": told}


def record(name: str, subject: str, problem: str, answer: str) -> dict[str, Any]:
    return {
        "id": name,
        "messages": [{"role": "user", "content": _PROMPT.format(problem=problem)}],
        "raw_problem": problem,
        "gt_answer": answer,
        "subject": subject,
    }
