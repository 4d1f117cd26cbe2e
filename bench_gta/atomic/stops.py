"""Replies on which the published code of GTA-Atomic stops; here they count as invalid ones (GTA spec 5.2 and 7.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agentgauge.agent.model_json import read_json
from agentgauge.core.types import Json

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
