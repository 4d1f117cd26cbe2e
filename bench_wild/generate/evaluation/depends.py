"""Which action of a task must come before which, as far as the transcript shows it (wild spec 2.3).

- An action waits for the results that its argument values come from: values that occur in an earlier result of the
  task, but neither in the user's words nor in the date.
- Actions of one list of the planner wait for each other only if one uses a value from another's result.
- A question is a separate step: it waits for everything before it, and everything after waits for it. So does the final
  answer.
- If an action of a later list uses no known value, it keeps the planner's order: it waits for the list before. A note
  reports this.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench_wild.generate.evaluation.actions import Action
from bench_wild.generate.evaluation.values import Leaf, Result, is_date, leaves, occurs, plain, written


def link(actions: Sequence[Action], known: str, history: str) -> tuple[list[list[int]], list[str]]:
    """For every action the positions that it waits for, ascending; and notes on what the transcript did not determine.

    ``known``: what the user has said up to the task's words, and the date; ``history``: the results and answers of
    earlier tasks. Both as ``plain`` has them.
    """
    results = [Result.of(action.observation) if action.is_tool else Result((), "") for action in actions]
    waits: list[list[int]] = []
    notes: list[str] = []
    question: int | None = None  # the last question
    for place, action in enumerate(actions):
        if not action.is_tool:
            waits.append(_ends(waits))
            if action.user_input is not None:
                question = place
                known += "\n" + plain(action.user_input)
            continue
        found, unsure = _sources(actions, results, place, known, history)
        notes += [f"action {place} ({action.name}): {note}" for note in unsure]
        if not found:
            found = {earlier for earlier in range(place) if actions[earlier].list == action.list - 1}
            if found and question not in found:
                after = ", ".join(map(str, sorted(found)))
                notes.append(
                    f"action {place} ({action.name}): no value comes from an earlier result; it waits for {after}, as"
                    " planned"
                )
        if question is not None and all(one < question for one in found):
            found.add(question)
        waits.append(sorted(found))
    return waits, notes


def _ends(waits: Sequence[Sequence[int]]) -> list[int]:
    """The actions that none waits for."""
    awaited = {one for before in waits for one in before}
    return [place for place in range(len(waits)) if place not in awaited]


def _sources(
    actions: Sequence[Action], results: Sequence[Result], place: int, known: str, history: str
) -> tuple[set[int], list[str]]:
    """The results that an action's values come from, and what is not certain of them."""
    found: set[int] = set()
    notes: list[str] = []
    for leaf in leaves(actions[place].arguments):
        sources = _of_leaf(actions, results, place, leaf, known)
        if not sources:
            continue
        found.update(sources)
        shown = f"{leaf.name} = {written(leaf.value)[:60]!r}"
        if len(sources) > 1:
            notes.append(f"{shown} is in the results of {', '.join(map(str, sources))}; it waits for all of them")
        if any(actions[source].list == actions[place].list for source in sources):
            notes.append(f"{shown} is in a result of the same list, which the planner had not seen; it waits for that")
        elif occurs(leaf.value, history):
            notes.append(f"{shown} is known from an earlier task as well; it waits for the result in this one")
    return found, notes


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
