"""Checks a call's arguments: first against the tool's schema, then against the gold
(docs/benchmarks/wild.md#arguments).

Texts are compared by equality, edit similarity for short ones, and ROUGE-L for the rest
(docs/benchmarks/wild.md#texts).

Outcomes are the texts of the published evaluator: ``correct`` or the first error.

ROUGE-L is that of the package ``rouge`` 1.0.1, written again here: the package traces back by recursion, so that its
outcome for long texts depends on the depth of the call stack. A test compares both on random texts. Chinese is
segmented by ``jieba``, which is imported when the first Chinese text has to be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from agentgauge.core.tools import EVERY_VALUE, NO_VALUE, item_schema, resolved
from agentgauge.core.types import Json
from bench_wild.fixes import Fix, Fixes

CORRECT = "correct"

SHORT = 10
"""Gold texts with fewer characters must also pass the edit similarity."""

EDIT_MARK = 0.8
ROUGE_MARK = 0.7

DEEPEST = 970
"""Steps of a trace-back that the published evaluator's recursion limit of 1000 leaves room for; approximate."""

_CHINESE = re.compile("[\u4e00-\u9fa5]")
_SPACE = re.compile(r"\s+")


def compare_text(predicted: str, gold: str, path: str, *, any_length: bool = False) -> str:
    """``correct`` or the error text. ``path`` names the argument; ``any_length`` is Fix.LONG_TEXTS."""
    if same_text(predicted, gold):
        return CORRECT
    where = f" at '{path}'" if path else ""
    if len(gold) < SHORT and (ratio := edit_ratio(predicted, gold)) < EDIT_MARK:
        return f"error_match: string similarity too low{where} (edit score: {ratio:.2f})"
    # a short text that passed goes on: as upstream
    try:
        score = rouge_l(*segmented(predicted, gold), any_length=any_length)
    except ValueError:
        return f"error_match: rouge calculation failed{where}"
    if score < ROUGE_MARK:
        return f"error_match: string similarity too low{where} (rouge score: {score:.2f})"
    return CORRECT


def same_text(one: str, other: str) -> bool:
    """Equality, whitespace and case aside."""
    return one == other or _SPACE.sub("", one).lower() == _SPACE.sub("", other).lower()


def edit_ratio(predicted: str, gold: str) -> float:
    """Similarity from 0 to 1. The order of the arguments matters."""
    return SequenceMatcher(None, predicted, gold).ratio()


def is_chinese(text: str) -> bool:
    """Whether there is a character from U+4E00 to U+9FA5."""
    return _CHINESE.search(text) is not None


def segmented(predicted: str, gold: str) -> tuple[str, str]:
    """Both texts with blanks between words where one of them is Chinese, else as they are."""
    if is_chinese(predicted) or is_chinese(gold):
        return " ".join(words(predicted)), " ".join(words(gold))
    return predicted, gold


def words(text: str) -> list[str]:
    """A text cut by jieba in its default mode; blanks and punctuation are words as well."""
    return list(_jieba().lcut(text))


@lru_cache(maxsize=1)
def _jieba() -> Any:
    import logging
    import warnings

    with warnings.catch_warnings():
        # jieba 0.42.1 imports pkg_resources where there is one, and has escapes that new Pythons warn of
        warnings.simplefilter("ignore")
        import jieba

        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
    return jieba


def rouge_l(predicted: str, gold: str, *, any_length: bool = False) -> float:
    """ROUGE-L's f, summary level: sentences end at ``.``, words at blanks, and every word counts once.

    Raises ValueError where a text has no sentence, and for texts so long that upstream's recursion ends, unless
    ``any_length``.
    """
    hypothesis, reference = _sentences(predicted), _sentences(gold)
    if not hypothesis or not reference:
        raise ValueError("a text without any sentence has no ROUGE score")
    common: set[str] = set()
    for expected in reference:
        for sentence in hypothesis:
            common |= _common_words(expected, sentence, any_length)
    recall = len(common) / len({word for sentence in reference for word in sentence})
    precision = len(common) / len({word for sentence in hypothesis for word in sentence})
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    # a piece of blanks only becomes one empty word: as upstream
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def _common_words(expected: Sequence[str], sentence: Sequence[str], any_length: bool) -> set[str]:
    """The words of one longest common subsequence; which one is decided as upstream."""
    if min(len(expected), len(sentence)) > DEEPEST and not any_length:
        raise ValueError("a trace-back through the shorter text is beyond the published evaluator's recursion limit")
    table = _lengths(expected, sentence)
    row, column, steps = len(expected), len(sentence), 0
    found: set[str] = set()
    while row and column:
        if expected[row - 1] == sentence[column - 1]:
            row, column = row - 1, column - 1
            found.add(expected[row])
        elif table[row - 1][column] > table[row][column - 1]:
            row -= 1
        else:
            column -= 1
        steps += 1
    if steps > DEEPEST and not any_length:
        raise ValueError(f"a trace-back of {steps} steps is beyond the published evaluator's recursion limit")
    return found


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    return _lengths(one, other)[-1][-1]


def _lengths(one: Sequence[str], other: Sequence[str]) -> list[list[int]]:
    table = [[0] * (len(other) + 1)]
    for mine in one:
        above, row = table[-1], [0]
        for place, theirs in enumerate(other):
            if mine == theirs:
                row.append(above[place] + 1)
            else:
                left, up = row[place], above[place + 1]
                row.append(left if left > up else up)
        table.append(row)
    return table


INVALID_JSON = "error: args invalid json format"

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "float": (float,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
"""Python types by schema type. bool is a subclass of int and passes for numbers: as upstream."""

_PHRASES = {
    "missing": ("required args missing", "required nested args missing"),
    "undefined": ("args not defined", "nested args not defined"),
    "type": ("args type inconsistent", "nested args type inconsistent"),
    "enum": ("args value not in enum", "nested args value not in enum"),
}
"""For arguments as a whole and for anything within them: a top-level argument counts as nested (as upstream)."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Rules:
    """How the arguments of one call are judged: with which fixes, and where the schema's references lead."""

    fixes: Fixes
    root: Any  # the tool's parameters as the file has them
    lists: bool  # whether lists of types are read; upstream stops on them

    def __contains__(self, fix: Fix) -> bool:
        return fix in self.fixes

    def resolved(self, schema: Any) -> Any:
        return resolved(schema, self.root) if Fix.WHOLE_SCHEMAS in self.fixes else schema


def check(tool: Mapping[str, Any], predicted: Json, gold: Json, fixes: Fixes) -> str:
    """Judge the arguments of one call. ``tool`` is in OpenAI form, ``predicted`` JSON text, ``gold`` an object.
    Raises as ``parse``, and TypeError for a schema with a list of types, on which upstream stops."""
    parsed, error = parse(predicted, fixes)
    if error:
        return error
    outcome = _against_schema(tool, parsed, fixes)
    return outcome if outcome != CORRECT else _against_gold(tool, parsed, gold, fixes)


def check_schema(tool: Mapping[str, Any], predicted: Json, fixes: Fixes) -> str:
    """The schema check alone; lists of types are read. Raises as ``parse``."""
    parsed, error = parse(predicted, fixes)
    return error or _against_schema(tool, parsed, fixes, lists=True)


def parse(predicted: Json, fixes: Fixes) -> tuple[Json, str]:
    """Value and error text, one of them empty. Python's JSON: NaN is taken, and of equal keys the last.

    A value that is no text is an error (upstream stops there), except an object under Fix.ARGUMENT_OBJECTS. Raises the
    exception with which upstream stops, unless Fix.ANY_TEXT: RecursionError for text that is nested too deep,
    ValueError for an integer of too many digits.
    """
    if Fix.ARGUMENT_OBJECTS in fixes and isinstance(predicted, dict):
        return predicted, ""
    if not isinstance(predicted, str):
        return None, INVALID_JSON
    try:
        return json.loads(predicted), ""
    except (ValueError, RecursionError) as error:
        if Fix.ANY_TEXT not in fixes and not isinstance(error, json.JSONDecodeError):
            raise
        return None, INVALID_JSON


def find_tool(tools: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """The tool of a name; of several, the last."""
    return next((tool for tool in reversed(tools) if tool["function"]["name"] == name), None)


def _parameters(tool: Mapping[str, Any], fixes: Fixes, *, lists: bool = False) -> tuple[Schema, _Rules]:
    """The schema of the arguments as a whole; empty where it is none. And how it is read."""
    parameters = tool["function"].get("parameters")
    rules = _Rules(fixes, parameters, lists or Fix.WHOLE_SCHEMAS in fixes)
    parameters = rules.resolved(parameters)
    return parameters if isinstance(parameters, Mapping) else {}, rules


# -- the schema
#
# Upstream stops on what is no object where it needs a schema. There the schema is read as JSON Schema has it, under any
# scoring; null is read as if the keyword were left out. A list of types is read so under Fix.WHOLE_SCHEMAS.


def _against_schema(tool: Mapping[str, Any], value: Json, fixes: Fixes, *, lists: bool = False) -> str:
    """A top-level ``additionalProperties`` is ignored: as upstream."""
    parameters, rules = _parameters(tool, fixes, lists=lists)
    whole = {"type": "object", "required": parameters.get("required"), "properties": parameters.get("properties") or {}}
    try:
        return _check_schema(value, whole, "", rules)
    except RecursionError:
        if Fix.ANY_TEXT not in fixes:
            raise
        return INVALID_JSON


def _check_schema(value: Json, schema: Any, path: str, rules: _Rules) -> str:
    schema = rules.resolved(schema)
    if isinstance(schema, str | list):
        schema = {}  # no schema, and upstream finds no keyword in it
    if not isinstance(schema, Mapping):
        return _violation("undefined", path) if schema is NO_VALUE else CORRECT
    if isinstance(branches := schema.get("anyOf"), list) and branches:
        outcomes = [_check_schema(value, branch, path, rules) for branch in branches]
        return CORRECT if CORRECT in outcomes else outcomes[0]
    if not _right_type(value, schema, rules):
        return _violation("type", path)
    if not _is_listed(value, schema.get("enum")):
        return _violation("enum", path)
    if isinstance(value, dict):
        return _check_members(value, schema, path, rules)
    if isinstance(value, list):
        for place, item in enumerate(value):
            wanted = item_schema(schema, place) if Fix.WHOLE_SCHEMAS in rules else schema.get("items", EVERY_VALUE)
            if (outcome := _check_schema(item, wanted, f"{path}[{place}]", rules)) != CORRECT:
                return outcome
    return CORRECT


def _right_type(value: Json, schema: Schema, rules: _Rules) -> bool:
    if "type" not in schema and Fix.ANY_TYPE in rules:
        return True
    given = schema.get("type", "string")
    if isinstance(given, list | dict) and not rules.lists:
        raise TypeError(f"unhashable type: {type(given).__name__!r}")
    return any(_has_type(value, name, rules) for name in (given if isinstance(given, list) and given else [given]))


def _has_type(value: Json, name: Any, rules: _Rules) -> bool:
    accepted = _TYPES.get(name) if isinstance(name, str) else None
    if accepted is None:
        return True  # an unknown name allows anything: as upstream
    if Fix.SAME_NUMBER in rules and name == "float" and isinstance(value, int):
        return True
    return isinstance(value, accepted)


def _is_listed(value: Json, enum: Any) -> bool:
    try:
        return enum is None or value in enum
    except TypeError:  # upstream stops
        return True


def _check_members(value: Mapping[str, Json], schema: Schema, path: str, rules: _Rules) -> str:
    required, properties, others = (schema.get(name) for name in ("required", "properties", "additionalProperties"))
    names = required if isinstance(required, list | str) else ()
    if any(name not in value for name in names if isinstance(name, Hashable)):
        return _violation("missing", path)
    properties = properties if isinstance(properties, Mapping) else {}
    if not (isinstance(others, Mapping) and Fix.WHOLE_SCHEMAS in rules):
        others = others is True or (Fix.FREE_OBJECTS in rules and schema.get("properties") is None)
    for name, member in value.items():
        if name not in properties and others is NO_VALUE:
            return _violation("undefined", path)
        outcome = _check_schema(member, properties.get(name, others), f"{path}.{name}" if path else name, rules)
        if outcome != CORRECT:
            return outcome
    return CORRECT


def _violation(kind: str, path: str) -> str:
    return f"error_schema: {_PHRASES[kind][bool(path)]}"


# -- the gold


def _against_gold(tool: Mapping[str, Any], predicted: Json, gold: Json, fixes: Fixes) -> str:
    """Compare parsed arguments with the gold's. The order of members is irrelevant, that of items is not."""
    parameters, rules = _parameters(tool, fixes)
    properties = parameters.get("properties")
    top = {"properties": properties if isinstance(properties, Mapping) else {}}
    # upstream hands over the map of properties instead of a schema; it matters for a parameter called ``properties``
    # only
    schema = top if Fix.FREE_OBJECTS in fixes else top["properties"]
    return _compare(predicted, gold, schema, "", rules, top)


def _compare(predicted: Json, gold: Json, schema: Any, path: str, rules: _Rules, top: Schema | None = None) -> str:
    where = _at(path)
    if type(predicted) is not type(gold):
        if Fix.SAME_NUMBER in rules and _one_number(predicted, gold):
            return CORRECT
        return f"error_match: value type inconsistent{where}"
    if isinstance(gold, dict):
        return _compare_members(predicted, gold, schema, path, rules, top)
    if isinstance(gold, list):
        if len(predicted) != len(gold):
            return f"error_match: array length mismatch{where}"
        if not isinstance(schema, Mapping):
            return _no_schema(schema)
        for place, (mine, wanted) in enumerate(zip(predicted, gold, strict=True)):
            items = item_schema(schema, place) if Fix.WHOLE_SCHEMAS in rules else schema.get("items", {})
            if (outcome := _compare(mine, wanted, _inner(items, rules), f"{path}[{place}]", rules)) != CORRECT:
                return outcome
        return CORRECT
    if isinstance(gold, str):
        return compare_text(predicted, gold, path, any_length=Fix.LONG_TEXTS in rules)
    return CORRECT if predicted == gold else f"error_match: value mismatch{where}"


def _compare_members(
    predicted: Mapping[str, Json], gold: Mapping[str, Json], schema: Any, path: str, rules: _Rules, top: Schema | None
) -> str:
    if Fix.DEFAULTS in rules:
        known = {name: value for name, value in _defaults(top or schema).items() if name in predicted or name in gold}
        predicted, gold = {**known, **predicted}, {**known, **gold}
    missing, extra = sorted(gold.keys() - predicted.keys()), sorted(predicted.keys() - gold.keys())
    if missing or extra:
        parts = [f"{word}: {names}" for word, names in (("missing", missing), ("extra", extra)) if names]
        return f"error_match: args keys mismatch{_at(path)} ({', '.join(parts)})"
    members = _members(schema, rules)
    is_keyword = top is None and members is schema
    for name, wanted in gold.items():
        sub_schema = members.get(name, _others(schema, rules))
        sub_schema = sub_schema if is_keyword else _inner(sub_schema, rules)
        if (
            outcome := _compare(predicted[name], wanted, sub_schema, f"{path}.{name}" if path else name, rules)
        ) != CORRECT:
            return outcome
    return CORRECT


def _members(schema: Any, rules: _Rules) -> Mapping[str, Any]:
    """The schemas of an object's members; what is no schema has none.

    Where there are no ``properties``, a member called like a keyword gets that keyword's value: as upstream.
    """
    if not isinstance(schema, Mapping):
        return {}
    members = schema.get("properties", {} if Fix.FREE_OBJECTS in rules else schema)
    return members if isinstance(members, Mapping) else {}


def _others(schema: Any, rules: _Rules) -> Any:
    """The schema of the members that an object's schema does not name."""
    named = isinstance(schema, Mapping) and Fix.WHOLE_SCHEMAS in rules
    return schema.get("additionalProperties", {}) if named else {}


def _inner(schema: Any, rules: _Rules) -> Any:
    """A schema inside of another; a Boolean one and null say nothing of what is compared."""
    schema = rules.resolved(schema)
    return {} if schema is None or isinstance(schema, bool) else schema


def _no_schema(schema: Any) -> str:
    return f"error: comparison failed - {type(schema).__name__!r} object has no attribute 'get'"


def _at(path: str) -> str:
    return f" at '{path}'" if path else ""


def _defaults(schema: Any) -> dict[str, Json]:
    """Default values of optional members."""
    members = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return {name: one["default"] for name, one in members.items() if isinstance(one, Mapping) and "default" in one}


def _one_number(one: Json, other: Json) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    return numbers and bool(one == other)
