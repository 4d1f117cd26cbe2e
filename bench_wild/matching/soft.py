"""The earlier evaluator's soft score of one call against one gold call (wild spec 7.2, corrections to it).

Where the spec is silent this follows the code of the earlier release, ``bench_test/analysis_result.py`` of
yupeijei1997/WildToolBench at e163970, also in what it raises: a call on which it raises cannot be scored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.types import Json
from bench_wild.matching.strings import longest_common, same_text, words

GOOD = 0.7
"""A call's score from which it is good. A text must exceed it not to count as an error."""

MISSING, HALLUCINATED, TYPE, VALUE_HALLUCINATED, VALUE = (
    "miss required params",
    "param hallucination",
    "type error",
    "param value hallucination",
    "param value error",
)
ARGUMENT_CLASSES = (MISSING, HALLUCINATED, TYPE, VALUE_HALLUCINATED, VALUE)
"""In the order in which one of a call's kinds becomes the task's class."""

_PLAIN_TYPES = ("integer", "boolean", "float", "number")
"""Schema types whose values are equal or wrong."""

_COORDINATES = re.compile(r"^\d+\.\d+,\d+\.\d+$")

_Graded = tuple[float, list[str]]
"""Score of a value, and the kinds of error that were found in it."""


class Unscorable(Exception):
    """The earlier evaluator raises an exception on these arguments; the task becomes an action error."""


@dataclass(frozen=True, slots=True)
class CallScore:
    """The score of one call against one gold call."""

    score: float  # 0 to 1
    kinds: tuple[str, ...]  # of error, in the order of the arguments
    wrong: tuple[str, ...]  # names of the top-level arguments below GOOD


def decoded(arguments: Json) -> Json:
    """Arguments as they are compared: JSON text decoded, everything else as the model gave it. Raises Unscorable.

    The result takes the arguments' place: as upstream, where text that was encoded twice is a text before the first
    comparison and an object before the second.
    """
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (RecursionError, ValueError) as error:
        raise Unscorable(f"{type(error).__name__}: {error}") from error


def score_call(tool: Mapping[str, Any], predicted: Json, gold: Mapping[str, Json]) -> CallScore:
    """Score the ``decoded`` arguments of one call. Raises Unscorable."""
    try:
        return _score_members(tool["function"]["parameters"], predicted, gold)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # upstream catches every exception here, whether the reply or the tool's schema is to blame
        raise Unscorable(f"{type(error).__name__}: {error}") from error


def _score_members(parameters: Any, predicted: Any, gold: Mapping[str, Json]) -> CallScore:
    """The mean over the predicted arguments. ``predicted`` may be a text or a list, which Python walks as well: as
    upstream."""
    for name in parameters.get("required", []):
        if name not in predicted:
            return CallScore(0.0, (MISSING,), (name,))
    if len(predicted) == 0 and not gold:
        return CallScore(1.0, (), ())
    properties = parameters["properties"]
    scores: list[float] = []
    kinds: list[str] = []
    by_name: dict[str, float] = {}  # a text or a list may have a name twice
    for name in predicted:
        if name not in properties:
            score, found = 0.0, [HALLUCINATED]
        elif name in gold:
            score, found = _value(predicted[name], gold[name], properties[name])
        else:
            score, found = _left_out(predicted[name], properties[name])
        scores.append(score)
        kinds += found
        by_name[name] = score
    wrong = tuple(name for name, score in by_name.items() if score < GOOD)
    return CallScore(sum(scores) / len(scores), tuple(kinds), wrong)


def _left_out(value: Json, schema: Any) -> _Graded:
    """A value that the gold leaves out passes if the description names it."""
    description, shown = schema.get("description", "").lower(), str(value).lower()
    if shown in description or (shown == "none" and "null" in description):
        return 1.0, []
    return 0.0, [VALUE_HALLUCINATED]


def _value(value: Any, gold: Any, schema: Any) -> _Graded:
    value, gold = _number(value), _number(gold)
    if type(value) is not type(gold):
        return 0.0, [TYPE]
    if value == gold or (isinstance(value, str) and (value.lower() == gold.lower() or same_text(value, gold))):
        return 1.0, []
    if isinstance(value, dict):
        return _object(value, gold, schema)
    kind = schema["type"]  # a property without a type raises: as upstream
    if kind in _PLAIN_TYPES:
        return 0.0, [VALUE]
    if kind == "string":
        return _text(value, gold)
    if kind == "array":
        return _array(value, gold, schema)
    raise Unscorable(f"the type {kind!r} is unknown")


def _object(value: Mapping[str, Any], gold: Mapping[str, Any], schema: Any) -> _Graded:
    members = next((schema[name] for name in ("items", "properties") if name in schema), schema)
    members = _properties(members)
    if not isinstance(members, dict):
        raise Unscorable("the schema of an object is none")
    scores: list[float] = []
    kinds: list[str] = []
    for name, member in value.items():
        if name not in members:
            return 0.0, [HALLUCINATED]
        score, found = _value(member, gold[name], members[name]) if name in gold else _left_out(member, members[name])
        scores.append(score)
        kinds += found
    return (sum(scores) / len(scores), kinds) if scores else (0.0, [VALUE])


def _text(value: Any, gold: Any) -> _Graded:
    if _COORDINATES.match(value) and _COORDINATES.match(gold):
        return 1.0, []
    score = _rouge_l(words(value), words(gold))
    return score, [] if score > GOOD else [VALUE]


def _array(value: Any, gold: Any, schema: Mapping[str, Any]) -> _Graded:
    if not isinstance(value, list):
        raise Unscorable(f"a {type(value).__name__} has no items")
    if len(value) != len(gold):
        return 0.0, [VALUE]
    # items of objects are held against the map of their properties: as upstream
    items = _properties(schema.get("items", {"type": "string"}))
    pairs = zip(sorted(value, key=_sortable), sorted(gold, key=_sortable), strict=True)
    graded = [_value(mine, wanted, items) for mine, wanted in pairs]
    return sum(score for score, _ in graded) / len(graded), [kind for _, kinds in graded for kind in kinds]


def _properties(schema: Any) -> Any:
    """What a schema holds as ``properties``, else the schema. A map of properties may have one of that name: as
    upstream."""
    return schema["properties"] if "properties" in schema else schema  # noqa: SIM401 - it may be a text


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _sortable(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _rouge_l(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """ROUGE-L's f as in the package ``rouge_score`` 0.1.2: on sequences, unlike the later evaluator's."""
    if not predicted or not gold:
        return 0.0
    common = longest_common(gold, predicted)
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall) if common else 0.0
