"""The sequences of task types that are covered (wild spec 9.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from agentgauge.core.errors import UsageProblem
from bench_wild.generate.dialogue.dialogue import TYPES, TaskType

Tasks = tuple[TaskType, ...]
"""The types of a dialogue's tasks, in order."""

DEFAULT_LENGTH = 4
MAX_LENGTH = 8
"""4 ** 8 = 65,536 dialogues."""


def all_sequences(length: int) -> list[Tasks]:
    """Every sequence of that length: 4 ** length of them. The last task varies fastest."""
    return list(product(TYPES, repeat=length))


def name_of(sequence: Sequence[str]) -> str:
    """``ST-MT-CQ-CC``."""
    return "-".join(sequence)


def chosen_sequences(text: str | None, length: int | None) -> list[Tasks]:
    """The sequences that ``--sequences`` and ``--layer-num-total`` select together, in the order of ``all_sequences``,
    each once.

    Raises UsageProblem for an unknown type, and for sequences of another length.
    """
    if length is not None and not 1 <= length <= MAX_LENGTH:
        raise UsageProblem(f"--layer-num-total is {length}; give the number of tasks of a dialogue, 1 to {MAX_LENGTH}")
    if text is None:
        return all_sequences(length or DEFAULT_LENGTH)
    wanted = {_parsed(word.strip()) for word in text.split(",")}
    total = length or len(next(iter(wanted)))
    for sequence in sorted(wanted):
        if len(sequence) != total:
            whole = f"--layer-num-total is {total}" if length else "all of one run must be equally long"
            tasks = f"{len(sequence)} {'task' if len(sequence) == 1 else 'tasks'}"
            raise UsageProblem(f"--sequences: {name_of(sequence)} has {tasks}, and {whole}")
    return [sequence for sequence in all_sequences(total) if sequence in wanted]


def _parsed(word: str) -> Tasks:
    kinds: dict[str, TaskType] = {name: name for name in TYPES}
    types = word.upper().split("-")
    if len(types) > MAX_LENGTH or not all(kind in kinds for kind in types):
        accepted = f"write up to {MAX_LENGTH} of {', '.join(TYPES)} with dashes between them, such as ST-MT-CQ-CC"
        raise UsageProblem(f"--sequences: {word!r} is not a sequence of task types; {accepted}")
    return tuple(kinds[kind] for kind in types)
