"""The earlier release's evaluator, which the published tables were made with
(docs/benchmarks/wild.md#evaluator-of-2025).

It scores arguments softly: a call is good from a mean of 0.7 over its arguments, and a task is correct if all its calls
are. A wrong task has one class of error. Its rates add 0.00001 to their denominators, which is left out here: it
changes the seventh digit.

Where that page is silent this follows the code of the earlier release, ``bench_test/analysis_result.py`` of
yupeijei1997/WildToolBench at e163970, also in what it raises: a call on which it raises cannot be scored.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.types import Json
from bench_wild.arguments import find_tool, longest_common, same_text, words
from bench_wild.data import GoldNode
from bench_wild.labels import ASK
from bench_wild.steps import STOPS, LoggedCall, side_by_side

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


@dataclass(frozen=True, slots=True)
class CallsReply:
    """One reply of the model."""

    calls: tuple[LoggedCall, ...] = ()  # none: a text, or nothing at all

    @property
    def read_as_calls(self) -> bool:
        """Whether the class of an action error counts its calls. One whose first call has no name is a text there: as
        upstream."""
        return bool(self.calls) and self.calls[0].unnamed != "absent"


@dataclass(frozen=True, slots=True)
class BadCall:
    """A call below GOOD."""

    reply: int  # which reply made it, from 0
    call: LoggedCall
    gold: LoggedCall  # the best of its counterparts
    score: float
    kinds: tuple[str, ...]  # of the counterpart that was tried last, not of the best one: as upstream
    parameters: tuple[str, ...]  # names of the top-level arguments that scored below GOOD against the best counterpart
    tried_last: tuple[str, ...]  # the same against the counterpart that was tried last, which upstream's report lists


@dataclass(frozen=True, slots=True)
class SoftVerdict:
    """The earlier evaluator's verdict on one task."""

    correct: bool
    optimal: bool
    scores: tuple[float, ...] | None  # of the calls, grouped by name in the order names first come; None: not scored
    bad: tuple[BadCall, ...]
    progress: int  # numerator; the denominator is the number of gold nodes
    error: str | None  # class, None where the task is correct
    decoded: Mapping[tuple[int, int], Json]  # arguments as scoring left them, by reply and place in it
    stops: str = ""  # the exception with which upstream stops on this task; empty: it does not


def judge_softly(
    replies: Sequence[CallsReply],
    gold: Sequence[GoldNode],
    tools: Sequence[Mapping[str, Any]],
    *,
    action_correct: bool,
    optimal: bool,
) -> SoftVerdict:
    """Score one task from its replies. ``action_correct`` and ``optimal`` are what inference found."""
    scores: tuple[float, ...] | None = None
    bad: tuple[BadCall, ...] = ()
    left: dict[tuple[int, int], Json] = {}
    if action_correct:
        with contextlib.suppress(Unscorable):
            scores, bad = _score_calls(replies, gold, tools, left)
    if scores is not None and not bad:
        return SoftVerdict(True, optimal, scores, bad, len(gold), None, left)
    progress = _progress(replies, bool(bad))
    if bad:
        return SoftVerdict(False, False, scores, bad, progress, _argument_class(bad), left)
    offered = {tool["function"]["name"] for tool in tools}
    error, stops = action_class(replies, gold, offered), _stop(replies, gold, offered)
    return SoftVerdict(False, False, scores, bad, progress, error, left, stops)


def _progress(replies: Sequence[CallsReply], argument_error: bool) -> int:
    """Calls of all replies but the last, a text being one; with wrong arguments those of the last as well."""
    counted = replies if argument_error else replies[:-1]
    return sum(len(reply.calls) or 1 for reply in counted)


# -- calls


def _score_calls(
    replies: Sequence[CallsReply],
    gold: Sequence[GoldNode],
    tools: Sequence[Mapping[str, Any]],
    left: dict[tuple[int, int], Json],
) -> tuple[tuple[float, ...], tuple[BadCall, ...]]:
    """The scores of the calls, and the bad ones. ``left`` gets the arguments as scoring leaves them."""
    wanted: dict[str, list[Mapping[str, Json]]] = {}
    for node in gold:
        if node.is_tool:
            wanted.setdefault(node.name, []).append(node.arguments)
    made: dict[str, list[tuple[int, int, LoggedCall]]] = {}
    for place, reply in enumerate(replies):
        for number, call in enumerate(reply.calls):
            if call.unnamed or not isinstance(call.name, str):
                raise Unscorable(f"the name of a call must be a string, not {call.name!r}")
            made.setdefault(call.name, []).append((place, number, call))
    if len(made) != len(wanted):
        raise Unscorable("the calls are not those of the gold")
    scores: list[float] = []
    bad: list[BadCall] = []
    for name, calls in made.items():
        if len(calls) != len(wanted.get(name, ())):  # only now, when the calls before are decoded: as upstream
            raise Unscorable(f"the calls of {name!r} are not those of the gold")
        tool = find_tool(tools, name)
        if tool is None:
            raise Unscorable(f"there is no tool {name!r}")
        counterparts = list(wanted[name])
        for place, number, call in calls:
            tried = []
            arguments = call.arguments
            for counterpart in counterparts:
                left[place, number] = arguments = decoded(arguments)
                tried.append(score_call(tool, arguments, counterpart))
            best = max(range(len(tried)), key=lambda one: (tried[one].score, -one))
            scores.append(tried[best].score)
            counterpart = counterparts.pop(best)
            if tried[best].score < GOOD:
                expected = LoggedCall(name, json.dumps(counterpart, ensure_ascii=False))
                last = tried[-1]
                bad.append(BadCall(place, call, expected, tried[best].score, last.kinds, tried[best].wrong, last.wrong))
    return tuple(scores), tuple(bad)


# -- classes of errors


def _argument_class(bad: Sequence[BadCall]) -> str | None:
    kinds = min(bad, key=lambda one: one.reply).kinds
    return next((kind for kind in ARGUMENT_CLASSES if kind in kinds), None)


def _stop(replies: Sequence[CallsReply], gold: Sequence[GoldNode], offered: Collection[str]) -> str:
    """The exception with which upstream stops where it looks for the class of an action error; empty: it does not."""
    if len(gold) == 1 and gold[0].is_prepare:  # of a single reply it only looks whether there is a name
        alone = replies[0].calls[:1] if len(replies) == 1 else ()
        return STOPS["unreadable"] if any(call.unnamed == "unreadable" for call in alone) else ""
    for reply in replies:
        for call in reply.calls if reply.read_as_calls else ():
            if call.unnamed:
                return STOPS[call.unnamed]
            if not isinstance(call.name, str) or call.name not in offered:
                break
    return ""


def action_class(replies: Sequence[CallsReply], gold: Sequence[GoldNode], offered: Collection[str]) -> str:
    """The class of an action error (docs/benchmarks/wild.md#error-classes)."""
    if len(replies) == 1 and not replies[0].read_as_calls:
        return "reject tool calling"
    if len(gold) == 1 and gold[0].is_prepare:
        return "call function without reject"
    made: list[str] = []
    found = ""
    for reply in replies:
        if not reply.read_as_calls:
            made.append(ASK)
            continue
        for call in reply.calls:
            if call.name == "filter_by_prompt" or not isinstance(call.name, str) or call.name not in offered:
                # a later reply's class replaces it: as upstream
                found = "reject tool calling" if call.name == "filter_by_prompt" else "function name hallucination"
                break
            made.append(call.name)
    if found:
        return found
    wanted = Counter(node.name for node in gold if not node.is_prepare)
    if ASK in wanted and ASK not in made:
        return "missing information in tool calling"
    if len(made) > len(gold) - 1:
        return "redundant tool calling"
    did = Counter(made)
    if ASK in wanted - did:
        return "missing information in tool calling"
    left = did - wanted
    if any(name not in wanted for name in left):
        return "call the wrong function"
    return "redundant tool calling" if left else "early stop"


def explain_softly(error: str | None, bad: Sequence[BadCall]) -> str:
    """The earlier evaluator's class, and the bad calls beside the best of their counterparts."""
    if error is None:
        return ""
    lines = [error]
    for one in bad:
        lines.append(f"reply {one.reply + 1}, {one.call.name}: {', '.join(one.kinds)} (score {one.score:.2f})")
        lines += side_by_side(one.gold, one.call)
    return "\n".join(lines)


# -- wrong parameters


def wrong_parameters(verdict: SoftVerdict, tools: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """How often arguments of each kind scored below GOOD in the bad calls of a task."""
    return Counter(parameter_kind(_schema_of(name, one, tools)) for one in verdict.bad for name in one.parameters)


def wrong_types(verdict: SoftVerdict, tools: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """How often a parameter of each signature is wrong in a task's bad calls
    (docs/benchmarks/wild.md#error-classes)."""
    return Counter(signature(_schema_of(name, one, tools)) for one in verdict.bad for name in one.tried_last)


def _schema_of(parameter: str, bad: BadCall, tools: Sequence[Mapping[str, Any]]) -> Any:
    """The schema of a parameter; None where the tool has no such parameter."""
    tool = find_tool(tools, bad.call.name) or {}
    parameters = tool.get("function", {}).get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return properties.get(parameter) if isinstance(properties, Mapping) else None


def parameter_kind(schema: Any) -> str:
    """The kind of a parameter, in the words of the data set's own statistics; ``other`` for what is no schema."""
    if not isinstance(schema, Mapping):
        return "other"
    name = str(schema.get("type", "string"))
    if name == "object":
        members = schema.get("properties")
        inner = members.values() if isinstance(members, Mapping) else ()
        nested = any(isinstance(one, Mapping) and one.get("type") == "object" for one in inner)
        return "nested object" if nested else "object"
    if name in ("string", "integer") and "enum" in schema:
        return f"{name} enum"
    if name == "number":
        return "float"
    return name if name in ("string", "integer", "float", "boolean", "array") else "other"


def signature(schema: Any) -> str:
    """A schema's types as JSON: ``["string"]``, ``["array", ["string"]]``, an object with a list of its members' types.

    ``[]`` for a schema without a type, and for a parameter that the tool does not have.
    """
    return json.dumps(_types(schema))


def _types(schema: Any) -> list[Json]:
    if not isinstance(schema, Mapping) or "type" not in schema:
        return []
    types: list[Json] = [schema["type"]]
    if isinstance(properties := schema.get("properties"), Mapping):
        types.append([_types(member) for member in properties.values()])
    if "items" in schema:
        types.append(_types(schema["items"]))
    return types
