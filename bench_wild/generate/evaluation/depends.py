"""Which action of a task must come before which, as far as the transcript shows it (wild spec 2.3).

- An action waits for the results that its argument values come from: values that occur in an earlier result of the
  task, but neither in the user's words nor in the date.
- Actions of one list of the planner wait for each other only if one uses a value from another's result.
- A question is a separate step: it waits for everything before it, and everything after waits for it. So does the final
  answer.
- If an action of a later list uses no known value, it keeps the planner's order: it waits for the list before.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench_wild.generate.evaluation.actions import Action
from bench_wild.generate.evaluation.values import Leaf, Result, is_date, leaves, plain, written


def link(actions: Sequence[Action], known: str) -> list[list[int]]:
    """For every action the positions that it waits for, ascending.

    ``known``: what the user has said up to the task's words, and the date, as ``plain`` has them.
    """
    results = [Result.of(action.observation) if action.is_tool else Result((), "") for action in actions]
    waits: list[list[int]] = []
    question: int | None = None  # the last question
    for place, action in enumerate(actions):
        if not action.is_tool:
            waits.append(_ends(waits))
            if action.user_input is not None:
                question = place
                known += "\n" + plain(action.user_input)
            continue
        found = {
            source for leaf in leaves(action.arguments) for source in _of_leaf(actions, results, place, leaf, known)
        }
        found = found or {earlier for earlier in range(place) if actions[earlier].list == action.list - 1}
        if question is not None and all(one < question for one in found):
            found.add(question)
        waits.append(sorted(found))
    return waits


def _ends(waits: Sequence[Sequence[int]]) -> list[int]:
    """The actions that none waits for."""
    awaited = {one for before in waits for one in before}
    return [place for place in range(len(waits)) if place not in awaited]


def _of_leaf(actions: Sequence[Action], results: Sequence[Result], place: int, leaf: Leaf, known: str) -> list[int]:
    """Where a value first came up: the results with it, of the first list that has any.

    A result only repeats what its own call was given. Of dates the planner knows more than is written, so that a date
    in two calls of one list says nothing.
    """
    giving = [
        earlier
        for earlier in range(place)
        if results[earlier].gives(leaf, known)
        and not any(written(one.value) == written(leaf.value) for one in leaves(actions[earlier].arguments))
        and not (actions[earlier].list == actions[place].list and is_date(leaf.value))
    ]
    first = min((actions[earlier].list for earlier in giving), default=None)
    return [earlier for earlier in giving if actions[earlier].list == first]
