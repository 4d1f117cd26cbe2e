"""The earlier evaluator's soft score of one call against one gold call (wild spec 7.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench_wild.strings import longest_common, same_text, words
from harness.types import Json

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

_COORDINATES = re.compile(r"\d+\.\d+,\d+\.\d+")


class Unscorable(Exception):
    """The earlier evaluator fails on these arguments; the task becomes an action error."""


def parse_arguments(arguments: Json) -> Json:
    """A call's arguments, decoded. Raises Unscorable for text that is no JSON."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        raise Unscorable("the arguments are no JSON") from None


@dataclass(slots=True)
class SoftScore:
    """The score of one call against one gold call, with the kinds of error met on the way."""

    tool: Mapping[str, Any]
    predicted: Json
    gold: Mapping[str, Json]
    kinds: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    score: float = 0.0

    def __post_init__(self) -> None:
        parameters = self.tool["function"].get("parameters") or {}
        properties = parameters.get("properties") or {}
        if not isinstance(self.predicted, dict | list | str):
            raise Unscorable("the arguments are no object")
        # a list or a text that is no object lacks what it does not contain: as upstream
        absent = [name for name in parameters.get("required") or () if name not in self.predicted]
        if absent:
            self.kinds.append(MISSING)
            self.wrong = absent
        elif not self.predicted and not self.gold:
            self.score = 1.0
        elif not self.predicted or not isinstance(self.predicted, dict):
            raise Unscorable("there are no arguments to take the mean of")
        else:
            found = {name: self._argument(name, value, properties) for name, value in self.predicted.items()}
            self.wrong = [name for name, score in found.items() if score < GOOD]
            self.score = sum(found.values()) / len(found)

    def _argument(self, name: str, value: Json, properties: Mapping[str, Any]) -> float:
        if name not in properties:
            return self._nothing(HALLUCINATED)
        if name not in self.gold:
            return self._default(value, properties[name])
        return self._value(value, self.gold[name], properties[name])

    def _default(self, value: Json, schema: Mapping[str, Any]) -> float:
        """An argument that the gold leaves out passes if the description names its value."""
        description, shown = str(schema.get("description", "")), str(value).lower()
        if shown in description or (shown == "none" and "null" in description):
            return 1.0
        return self._nothing(VALUE_HALLUCINATED)

    def _value(self, value: Json, gold: Json, schema: Mapping[str, Any]) -> float:
        value, gold = _number(value), _number(gold)
        if type(value) is not type(gold):
            return self._nothing(TYPE)
        if value == gold or (isinstance(value, str) and same_text(value, gold)):
            return 1.0
        if isinstance(value, Mapping):
            return self._object(value, gold, schema)
        match schema.get("type", "string"):
            case "string":
                return self._text(value, gold)
            case "array":
                return self._array(value, gold, schema)
            case _:
                return self._nothing(VALUE)

    def _object(self, value: Mapping[str, Json], gold: Mapping[str, Json], schema: Mapping[str, Any]) -> float:
        members = schema.get("items") or schema.get("properties") or schema
        if not value:
            return self._nothing(VALUE)
        scores = []
        for name, member in value.items():
            if name not in members:
                return self._nothing(HALLUCINATED)
            found = members[name]
            sub_schema = found if isinstance(found, Mapping) else {}
            scores.append(self._value(member, gold[name], sub_schema) if name in gold else self._default(member, sub_schema))
        return sum(scores) / len(scores)

    def _text(self, value: Json, gold: Json) -> float:
        if not isinstance(value, str):
            raise Unscorable(f"a {type(value).__name__} cannot be compared as text")
        if _COORDINATES.match(value) and _COORDINATES.match(gold):
            return 1.0
        score = _rouge_l(words(value), words(gold))
        if not score > GOOD:
            self.kinds.append(VALUE)
        return score

    def _array(self, value: Json, gold: Json, schema: Mapping[str, Any]) -> float:
        if not isinstance(value, list):
            return self._nothing(VALUE)
        if len(value) != len(gold):
            return self._nothing(VALUE)
        items = schema.get("items") or {"type": "string"}
        pairs = zip(sorted(value, key=_sortable), sorted(gold, key=_sortable), strict=True)
        scores = [self._value(mine, wanted, items) for mine, wanted in pairs]
        return sum(scores) / len(scores)

    def _nothing(self, kind: str) -> float:
        self.kinds.append(kind)
        return 0.0


def _number(value: Json) -> Json:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _sortable(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _rouge_l(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """ROUGE-L's f as in the package ``rouge_score`` 0.1.2: on sequences, unlike the later evaluator's."""
    if not predicted or not gold:
        return 0.0
    common = longest_common(gold, predicted)
    precision, recall = common / len(predicted), common / len(gold)
    return 2 * precision * recall / (precision + recall) if common else 0.0
