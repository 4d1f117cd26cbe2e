"""The four files of contest problems; every expected output is what the problem's own program prints."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

from bundled_data.mmau.contest_problems import PROBLEMS, Problem

__all__ = ["PROBLEMS", "files", "parsed_input", "printed"]

_SOLVE_ALONE = """Write a Python program for the following problem. It reads its data with input() and prints the bare \
results, without any words around them. It may use the standard library only.

{description}

Reply with the whole program in one fence that begins with ```python."""

_PLAN_ONLY = """Below is a programming problem. Write a plan for solving it, in a few sentences: what to read, what to \
keep, what to compute in which order, and what to print. Somebody else will write the program from your plan. Write no \
code yourself.

{description}"""

_SOLVE_WITH_PLAN = """Below are a programming problem and a plan for solving it. Turn the plan into a Python program. \
It reads its data with input() and prints the bare results, without any words around them. It may use the standard \
library only.

#PROBLEM#
{description}

#PLAN#
{plan}

Reply with the whole program in one fence that begins with ```python."""

_PARSE = """Below are a programming problem and one input for it. Find out what a correct program prints for this \
input. Write no code; work through the input by hand.

#PROBLEM#
{description}

#INPUT#
{given}
First explain how you come to the output. Then end your reply with a part in this form, the output and nothing else \
behind the mark:

#ANSWER#: the output"""


def printed(program: str, given: str) -> str:
    """What a program prints on an input. Only our own programs come here."""
    output, before = io.StringIO(), sys.stdin
    sys.stdin = io.StringIO(given)
    try:
        with contextlib.redirect_stdout(output):
            exec(program, {"__name__": "builtins"})
    finally:
        sys.stdin = before
    return output.getvalue()


def parsed_input(problem: Problem) -> str:
    """The input that problem parsing asks about: the shortest of those that no description shows."""
    return min((*problem.private, *(problem.generated or ())), key=len)


def files() -> dict[str, list[dict[str, Any]]]:
    """Every problem once in each file."""
    return {
        "code_contests_regular_20240712.jsonl": [_record("regular", problem, _SOLVE_ALONE) for problem in PROBLEMS],
        "code_contests_plan_20240712.jsonl": [
            {**_record("plan", problem, _PLAN_ONLY), "plan": problem.plan} for problem in PROBLEMS
        ],
        "code_contests_solve_20240712.jsonl": [_record("solve", problem, _SOLVE_WITH_PLAN) for problem in PROBLEMS],
        "code_contests_understand_20240712.jsonl": [_parsing(problem) for problem in PROBLEMS],
    }


def _record(kind: str, problem: Problem, template: str) -> dict[str, Any]:
    text = template.format(description=problem.description, plan=problem.plan)
    groups = {"public_tests": problem.public, "private_tests": problem.private, "generated_tests": problem.generated}
    return {
        "id": f"contest_{kind}_{problem.name}",
        "messages": [{"role": "user", "content": text}],
        "description": problem.description,
        **{name: _tests(problem, inputs) for name, inputs in groups.items() if inputs is not None},
        "solution": problem.program,
    }


def _parsing(problem: Problem) -> dict[str, Any]:
    given = parsed_input(problem)
    return {
        "id": f"contest_understand_{problem.name}",
        "messages": [{"role": "user", "content": _PARSE.format(description=problem.description, given=given)}],
        "target_output": printed(problem.program, given),
    }


def _tests(problem: Problem, inputs: tuple[str, ...]) -> dict[str, list[str]]:
    return {"input": list(inputs), "output": [printed(problem.program, given) for given in inputs]}
