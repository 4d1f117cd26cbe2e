"""The differences between ``--scoring strict`` and the published evaluator, one name for each fix.

Parity applies none of them; strict applies all. docs/benchmarks/gta_atomic.md#fidelity lists them.

Here are also the replies on which the published code stops; they count as invalid ones
(docs/benchmarks/gta_atomic.md#answers and docs/benchmarks/gta_atomic.md#resolving-an-action).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from agentgauge.agent.model_json import read_json
from agentgauge.core.types import Json, Scoring


class Fix(Enum):
    """A fix. The value describes it."""

    ERRORS_FAIL = "a call with an error counts for neither ToolAcc nor ArgAcc"
    EVERY_TURN = "a gold turn without a prediction stays in the denominators instead of being dropped"
    ANSWER_TURNS = (
        "InstAcc's denominator counts the gold's answer turns, not the samples with a reference, so it cannot"
        " exceed 100"
    )
    LAST_ANSWER = "SummAcc scores a sample's last answer turn only, so it cannot exceed 100"
    TYPED_ARGUMENTS = "true and false are no numbers where arguments are compared; 1 and 1.0 are still equal"
    ALIAS_EDGES = (
        "an alias may begin or end with any character ('42%', '$5', 'C++'), CJK text needs no blanks around it, a"
        " number is not found inside another ('3' in '3.5'), empty aliases are left out, and letter forms are folded"
        " (NFKC, case)"
    )
    REAL_ANSWER = "an error record or a thought that is left at the end is no answer"
    DRAWING_NEEDED = (
        "a sample without a reference and without a gold drawing call is left out of Ans+I instead of scoring 1"
    )
    DRAWINGS_PAIRED = (
        "of several drawings with one tool each is held against its own counterpart, and keys are put in order first"
    )
    F1_ONE_TO_ONE = (
        "a predicted call is found once, so F1 cannot exceed 100; without the epsilons; not available without gold"
        " calls"
    )


Fixes = frozenset[Fix]

PARITY: Fixes = frozenset()
STRICT: Fixes = frozenset(Fix)


def fixes_of(scoring: Scoring) -> Fixes:
    return STRICT if scoring == "strict" else PARITY


Turn = Mapping[str, Json]

_SHOWN = 40  # characters of arguments in a reason


def step_stop(prediction: Sequence[Turn]) -> str:
    """Why the published agent stops step by step; empty if it does not."""
    return _of_arguments(prediction)


def e2e_stop(prediction: Sequence[Sequence[Turn]]) -> str:
    """Why the published agent or evaluator stops on the first user turn, the scored one; empty if it does not."""
    if not prediction or not prediction[0]:
        return "the first user turn has no record"
    return _of_arguments(prediction[0])


def _of_arguments(records: Iterable[Turn]) -> str:
    """The agent takes a number, true, false or null for an object of arguments. It stops on a list of the right names,
    too; that case is not counted, because a record holds no inputs of tools."""
    for record in records:
        function = record["tool_calls"][0]["function"] if "tool_calls" in record else {}
        text = function.get("arguments")
        if isinstance(text, str) and "error" in record and _is_bare(text):
            return f"the arguments of a call of {function['name']} are {text[:_SHOWN]}, which is not an object"
    return ""


def _is_bare(text: str) -> bool:
    """Whether a text is JSON for a number, true, false or null."""
    try:
        value = read_json(text)
    except ValueError:
        return False
    return value is None or isinstance(value, bool | int | float)
