"""The bundled records of DAG QA: plans made from the dependencies of functions, of which one is right (MMAU spec
2.4, 5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import Any

from bundled_data.mmau.plan_problems import PROBLEMS, Function, Problem

Plan = tuple[str, ...]

_TASK = """\
# Task
Someone asks for something, and some functions are at hand. Several plans say which functions to call, one after the \
other. A call can
use what the request itself gives and what earlier calls of the same plan returned, nothing else. The right plan leads \
to
everything that was asked for and has no call that could be left out. Exactly one of the plans is right: find it."""
_ELABORATE = """\
# Answer
First explain in detail: go through the plans step by step and say which inputs each call has and whether it is \
needed. After that
write, on a line of its own, the number of the right plan in this form:
Chosen Plan: N"""
_CONCISE = """\
# Answer
Be concise: no explanation and no other text, only the number of the right plan on one line in this form:
Chosen Plan: N"""


def files() -> dict[str, list[dict[str, Any]]]:
    """The records of each file by its official name. Both ask about the same plans."""
    made = [(problem, *plans(problem)) for problem in PROBLEMS]
    return {
        f"tool_use_plan_{kind}_all_20240712.jsonl": [
            {
                "id": f"plan-{name}-{problem.length}-{problem.name}",
                "messages": [{"role": "user", "content": _message(problem, offered, wish)}],
                "target_plan_number": target,
            }
            for problem, offered, target in made
        ]
        for kind, name, wish in (("with_reasoning", "elaborate", _ELABORATE), ("no_reasoning", "concise", _CONCISE))
    }


def plans(problem: Problem) -> tuple[list[Plan], int]:
    """The plans in the order of their numbers, and the number of the right one."""
    random = Random(f"plans of {problem.name}")
    right = random.choice([order for order in permutations(needed(problem)) if is_right(order, problem)])
    wrong = _wrong(right, problem, random)
    place = random.randrange(problem.count)
    return [*wrong[:place], right, *wrong[place:]], place + 1


def reaches(plan: Sequence[str], problem: Problem) -> bool:
    """Whether every call has its inputs in time and the wishes come out at the end."""
    have = set(problem.known)
    for name in plan:
        function = problem.functions[name]
        if not have.issuperset(function.needs):
            return False
        have.update(function.gives)
    return have.issuperset(problem.wanted)


def is_right(plan: Sequence[str], problem: Problem) -> bool:
    """Whether it reaches everything and no call can be left out."""
    return reaches(plan, problem) and not any(
        reaches([*plan[:place], *plan[place + 1 :]], problem) for place in range(len(plan))
    )


def needed(problem: Problem) -> list[str]:
    """The functions that the wishes rest on. Each thing comes from one function only."""
    source = {thing: function for function in problem.functions.values() for thing in function.gives}
    found: dict[str, None] = {}
    open_things = list(problem.wanted)
    while open_things:
        thing = open_things.pop(0)
        if thing not in problem.known and source[thing].name not in found:
            found[source[thing].name] = None
            open_things.extend(source[thing].needs)
    return list(found)


def depth(problem: Problem) -> int:
    """How many calls wait for each other at most."""
    source = {thing: function for function in problem.functions.values() for thing in function.gives}

    def below(function: Function) -> int:
        return 1 + max((below(source[thing]) for thing in function.needs if thing not in problem.known), default=0)

    return max(below(source[thing]) for thing in problem.wanted)


def _wrong(right: Plan, problem: Problem, random: Random) -> list[Plan]:
    """Different wrong plans: the right functions in a wrong order, other functions, too few and too many, in turn."""
    seen = {right}
    kinds = []
    for kind in (_reordered(right), _replaced(right, problem), _shortened(right), _lengthened(right, problem)):
        made = [plan for plan in dict.fromkeys(kind) if plan and plan not in seen and not is_right(plan, problem)]
        seen.update(made)
        random.shuffle(made)
        kinds.append(made)
    chosen: list[Plan] = []
    while len(chosen) < problem.count - 1:
        if not any(kinds):
            raise ValueError(f"{problem.name} has too few wrong plans")
        chosen += [made.pop() for made in kinds if made]
    del chosen[problem.count - 1 :]
    random.shuffle(chosen)
    return chosen


def _reordered(right: Plan) -> Iterator[Plan]:
    yield from permutations(right)


def _others(right: Plan, problem: Problem) -> list[str]:
    return [name for name in problem.functions if name not in right]


def _replaced(right: Plan, problem: Problem) -> Iterator[Plan]:
    for place in range(len(right)):
        for other in _others(right, problem):
            yield (*right[:place], other, *right[place + 1 :])


def _shortened(right: Plan) -> Iterator[Plan]:
    for place in range(len(right)):
        yield (*right[:place], *right[place + 1 :])


def _lengthened(right: Plan, problem: Problem) -> Iterator[Plan]:
    for place in range(len(right) + 1):
        for other in _others(right, problem):
            yield (*right[:place], other, *right[place:])


def _message(problem: Problem, offered: Sequence[Plan], wish: str) -> str:
    functions = "\n".join(
        f"- {one.name}({', '.join(one.needs)}) returns {', '.join(one.gives)}: {one.about}"
        for one in problem.functions.values()
    )
    shown = "\n".join(_shown(number, plan, problem.steps) for number, plan in enumerate(offered, 1))
    return f"{_TASK}\n\n# Functions\n{functions}\n\n# Plans\n{shown}\n\n# Request\n{problem.says}\n\n{wish}"


def _shown(number: int, plan: Plan, steps: bool) -> str:
    if steps:
        return "\n".join([f"Plan {number}:", *(f"  Step {place}: {name}" for place, name in enumerate(plan, 1))])
    return f"Plan {number}: {' -> '.join(plan)}"
