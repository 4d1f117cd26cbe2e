"""Compares the expected answer with the actual one, from the layouts in which predictions hold their gold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Any

from agentgauge.agent.model_json import read_json
from agentgauge.core.types import Json

Row = dict[str, Any]
"""``{"step", "expected", "got"}``; the last two hold lists of ``{"name", "arguments"}`` or ``{"text"}``."""


def side_by_side(output: Json) -> list[Row]:
    """Rows of calls and answers, in order. Empty for a prediction that does not hold its gold."""
    if not isinstance(output, Mapping):
        return []
    if "inference_log" in output:
        return list(_logged(output["inference_log"]))
    gold, predicted = output.get("gold"), output.get("prediction")
    if not isinstance(gold, list) or not isinstance(predicted, list):
        return []
    if all(isinstance(turn, Mapping) for turn in gold):  # step by step: each turn was asked for by itself
        pairs = [(_acts([one]), _acts([two])) for one, two in zip(gold, [*predicted, *[{}] * len(gold)], strict=False)]
        return [_row(number, expected, got) for number, (expected, got) in enumerate(pairs, 1)]
    return [_row(number, *pair) for number, pair in enumerate(_aligned(_acts(_flat(gold)), _acts(_flat(predicted))), 1)]


def _logged(log: Mapping[str, Json]) -> Iterator[Row]:
    """A log of steps, each with candidates of what is right and with what came."""
    for key in sorted(filter(re.compile(r"step_\d{1,6}").fullmatch, log), key=lambda key: int(key[5:])):
        step = log[key]
        answers = step.get("inference_answer")
        found = answers.values() if isinstance(answers, Mapping) else ()
        candidates = [each.get("action") or [] for each in found if isinstance(each, Mapping)]
        expected = [_call(call) for call in candidates[0]] if candidates else []
        row = _row(int(key[5:]) + 1, expected, _acts([{**(step.get("inference_output") or {}), "role": "assistant"}]))
        yield row | ({"others": len(candidates) - 1} if len(candidates) > 1 else {})


def _acts(turns: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Any]]:
    """Calls and last words of an assistant's turns."""
    acts: list[Mapping[str, Any]] = []
    for turn in turns:
        if turn.get("role") != "assistant":
            continue
        calls = turn.get("tool_calls")
        calls = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
        acts += [_call(call.get("function") or call) for call in calls]
        if not calls and (words := turn.get("content")):
            acts.append({"text": words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)})
    return acts


def _call(call: Mapping[str, Json]) -> Mapping[str, Any]:
    arguments = call.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError):  # else it is shown as the model wrote it
            arguments = read_json(arguments)
    return {"name": str(call.get("name")), "arguments": arguments}


def _aligned(gold: list[Mapping[str, Any]], came: list[Mapping[str, Any]]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Pairs of acts with the same tool in the same order; what has no partner stands alone."""
    gold_names, came_names = ([str(act.get("name", "")) for act in acts] for acts in (gold, came))
    for _, i, j, k, m in SequenceMatcher(a=gold_names, b=came_names, autojunk=False).get_opcodes():
        for number in range(max(j - i, m - k)):
            one, two = i + number, k + number
            yield gold[one : min(one + 1, j)] if one < j else [], came[two : min(two + 1, m)] if two < m else []


def _flat(turns: Json) -> list[Mapping[str, Any]]:
    return [
        turn for part in turns for turn in (part if isinstance(part, list) else [part]) if isinstance(turn, Mapping)
    ]


def _row(step: int, expected: Sequence[Any], got: Sequence[Any]) -> Row:
    return {"step": step, "expected": list(expected), "got": list(got)}
