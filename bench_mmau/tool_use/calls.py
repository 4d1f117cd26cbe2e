"""Comparing predicted tool calls with the target's: all of them under the match rules, and one by one in part; the
values of arguments by text rules, as dates, and at three partial levels (docs/benchmarks/mmau.md#tool-use).
"""

from __future__ import annotations

import json
import re
import string
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.replies import NotScorable, ReplyCall, StopsOnReply

Level = Literal["strict", "lenient", "bow"]
LEVELS: tuple[Level, ...] = ("strict", "lenient", "bow")


_NORMALISED = str.maketrans("'", '"', " ,./-_*?+^")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

_STOP_WORDS = """
a about above after again against ain all am an and any are aren as at be because been before being below between both
but by can couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn have
haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m ma me mightn
more most mustn my myself needn no nor not now o of off on once only or other our ours ourselves out over own re s
same shan she should shouldn so some such t than that the their theirs them themselves then there these they this
those through to too under until up ve very was wasn we were weren what when where which while who whom why will with
won wouldn y you your yours yourself yourselves
"""
_FRAGMENTS = """
a ain aren couldn d didn doesn don hadn hasn haven i isn ll m ma mightn mustn needn o re s shan shouldn t ve wasn
weren won wouldn y
"""
_CONTRACTIONS = """
arent couldnt didnt doesnt dont hadnt hasnt havent isnt its mightnt mustnt neednt shant shes shouldnt shouldve thatll
wasnt werent wont wouldnt youd youll youre youve
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""The words of the usual 179 English stop words that can match, because punctuation is removed first [Q8]."""
WHOLE_STOP_WORDS = (STOP_WORDS - set(_FRAGMENTS.split())) | set(_CONTRACTIONS.split())


# -- the accuracy's comparison


def normalise(value: str) -> str:
    """Without blanks and ``, . / - _ * ? + ^``, in lower case, with ``"`` for ``'``. Tabs and other punctuation
    stay."""
    return value.lower().translate(_NORMALISED)


def default_match(predicted: Any, target: Any, *, fixes: Fixes = PARITY) -> bool:
    """Texts are normalised; anything else is compared as Python does, so that 1, 1.0 and true are equal. Inner texts
    are exact."""
    if isinstance(predicted, str):
        predicted = normalise(predicted)
    if isinstance(target, str):
        target = normalise(target)
    return equal(predicted, target, fixes=fixes)


def equal(one: Any, other: Any, *, fixes: Fixes = PARITY) -> bool:
    """Python equality of decoded JSON; under ``truth_values`` true differs from 1, inside of lists and objects too."""
    if not fixes.truth_values:
        return bool(one == other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            equal(mine, wanted, fixes=fixes) for mine, wanted in zip(one, other, strict=True)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(mine, other[name], fixes=fixes) for name, mine in one.items())
    return bool(one == other)


_FIXED_DAYS = (datetime(2001, 1, 1), datetime(2022, 10, 28))
"""They differ in year, month, day and weekday: dates agree on both only if they lack the same parts."""


def date_match(predicted: str, target: str, *, fixes: Fixes = PARITY) -> bool:
    """Equal points in time, month first where that is open; one with a time zone never equals one without.

    A part that is missing is today's [Q5]; a missing time is midnight. Unparsable texts do not match.
    Raises OverflowError for numbers that no date can hold, and ValueError for a time zone of more than a day, as the
    published evaluator does (docs/benchmarks/mmau.md#matching-calls).
    """
    from dateutil import parser

    days = _FIXED_DAYS if fixes.fixed_dates else (datetime.now().replace(hour=0, minute=0, second=0, microsecond=0),)
    try:
        with warnings.catch_warnings():  # a user may turn warnings into errors, and a model may write any time zone
            warnings.simplefilter("ignore", parser.UnknownTimezoneWarning)
            pairs = [(parser.parse(predicted, default=day), parser.parse(target, default=day)) for day in days]
    except parser.ParserError:
        return False
    return all(mine == wanted for mine, wanted in pairs)


# -- the partial levels


def trim(value: str, *, fixes: Fixes = PARITY) -> str:
    """The lenient transform: lower case, no ASCII punctuation, no stop words at either end, single blanks."""
    words = value.lower().translate(_NO_PUNCTUATION).split()
    stop_words = WHOLE_STOP_WORDS if fixes.whole_words else STOP_WORDS
    kept = [place for place, word in enumerate(words) if word not in stop_words]
    if kept:
        return " ".join(words[kept[0] : kept[-1] + 1])
    return " ".join(words) if fixes.whole_words else ""


def bag_of_words(predicted: str, target: str) -> bool:
    """Whether every word of the transformed target is in the transformed prediction; an empty target asks for an
    empty prediction."""
    wanted, found = set(target.split()), set(predicted.split())
    return wanted <= found if wanted else not found


def same_value(predicted: Any, target: Any, level: Level, *, fixes: Fixes = PARITY) -> bool:
    """Equality at a level. Lenient and bow look into lists, item by item, but not into objects."""
    if level != "strict":
        if isinstance(predicted, list) and isinstance(target, list) and len(predicted) == len(target):
            return all(
                same_value(mine, wanted, level, fixes=fixes) for mine, wanted in zip(predicted, target, strict=True)
            )
        if isinstance(predicted, str) and isinstance(target, str):
            one, other = trim(predicted, fixes=fixes), trim(target, fixes=fixes)
            return one == other or (level == "bow" and bag_of_words(one, other))
    return equal(predicted, target, fixes=fixes)


def same_arguments(predicted: Any, target: Any, level: Level, *, fixes: Fixes = PARITY) -> bool:
    """Whether two objects have the same arguments with equal values. Null is not missing here, unless
    ``null_is_omitted``."""
    if not isinstance(predicted, dict) or not isinstance(target, dict):
        return False
    if fixes.null_is_omitted:
        predicted, target = _without_null(predicted), _without_null(target)
    return predicted.keys() == target.keys() and all(
        same_value(value, target[name], level, fixes=fixes) for name, value in predicted.items()
    )


def _without_null(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


Rule = Mapping[str, Any]
"""``{}``, or ``{"arguments": {name: {"regex_match": str} | {"multi_choices": list} | {"date_match": bool}}}``."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The parts of a predicted call that agree with a target: the name, and name and arguments at each level."""

    func_name: bool
    strict: bool
    lenient: bool
    bow: bool


class _Undecodable(ValueError):
    """Arguments that are no JSON."""


# -- all calls, as the accuracy wants them


def compare_calls(
    predicted: Sequence[ReplyCall],
    target: Sequence[ReplyCall],
    rules: Sequence[Rule] | None = None,
    *,
    number: str = "",
    fixes: Fixes = PARITY,
) -> bool:
    """Whether every predicted call has a target of its own and no target is left.

    Each prediction takes the first remaining target that matches; there is no going back [Q4]. Raises NotScorable for
    rules in another number or of an unknown kind, and StopsOnReply for arguments on which the reference stops.
    """
    if rules is None:
        rules = [{}] * len(target)
    if not isinstance(rules, list) or len(rules) != len(target):
        found = len(rules) if isinstance(rules, list) else "no list of"
        raise NotScorable(
            number, f"there are {found} match rules for {len(target)} target calls; each call needs one, {{}} for none"
        )
    if fixes.best_pairs:
        return len(predicted) == len(target) and _can_pair(
            [
                [_matches(call, wanted, rule, number, fixes) for wanted, rule in zip(target, rules, strict=True)]
                for call in predicted
            ]
        )
    remaining = list(zip(target, rules, strict=True))
    for call in predicted:
        place = next(
            (place for place, (wanted, rule) in enumerate(remaining) if _matches(call, wanted, rule, number, fixes)),
            None,
        )
        if place is None:
            return False
        del remaining[place]
    return not remaining


def _can_pair(fits: Sequence[Sequence[bool]]) -> bool:
    """Whether a square table of what fits allows everyone a partner (augmenting paths)."""
    partner: dict[int, int] = {}

    def seek(row: int, seen: set[int]) -> bool:
        for column, fit in enumerate(fits[row]):
            if fit and column not in seen:
                seen.add(column)
                if column not in partner or seek(partner[column], seen):
                    partner[column] = row
                    return True
        return False

    return all(seek(row, set()) for row in range(len(fits)))


def _matches(predicted: ReplyCall, target: ReplyCall, rule: Rule, number: str, fixes: Fixes) -> bool:
    """One call against one target (docs/benchmarks/mmau.md#matching-calls)."""
    if predicted.name != target.name:
        return False
    try:
        mine, wanted = decode(predicted.arguments, number, fixes=fixes), decode(target.arguments, number, fixes=fixes)
    except _Undecodable:
        return False
    if not isinstance(mine, dict):
        return False
    if not isinstance(wanted, dict):
        raise NotScorable(
            number, f"the target's arguments {target.arguments!r} are not a JSON object; correct the target message"
        )
    ruled = _ruled(rule, number)
    for name, kind in ruled.items():
        if name not in mine or not _obeys(mine[name], wanted.get(name), kind, number, fixes):
            return False
    # an explicit null equals an omitted argument [Q6]
    others = [name for name in {**mine, **wanted} if name not in ruled]
    return all(_same(mine.get(name), wanted.get(name), fixes) for name in others)


def _ruled(rule: Any, number: str) -> Mapping[str, Any]:
    arguments = (rule.get("arguments") or {}) if isinstance(rule, Mapping) else None
    if not isinstance(arguments, Mapping):
        raise NotScorable(
            number,
            f"the match rule {rule!r} is not an object of the form {{'arguments': {{...}}}}; use {{}} for no rule",
        )
    return arguments


def _obeys(mine: Any, wanted: Any, kind: Any, number: str, fixes: Fixes) -> bool:
    """Whether a predicted value obeys the rule of its argument. The first kind of rule that is there counts."""
    given = {name: value for name, value in kind.items() if value is not None} if isinstance(kind, Mapping) else {}
    if "regex_match" in given:
        # applied to the value as it is, and anchored at its start alone
        return isinstance(mine, str) and _pattern(given["regex_match"], number).match(mine) is not None
    if "multi_choices" in given:
        if not isinstance(given["multi_choices"], list):
            raise NotScorable(
                number, f"the rule multi_choices is {given['multi_choices']!r}; it has to be a list of values"
            )
        return any(_same(mine, choice, fixes) for choice in given["multi_choices"])
    if "date_match" in given:
        return _dates_obey(mine, wanted, number, fixes) if given["date_match"] is True else _same(mine, wanted, fixes)
    raise NotScorable(
        number, f"the match rule {kind!r} is unknown; known are regex_match, multi_choices and date_match"
    )


def _dates_obey(mine: Any, wanted: Any, number: str, fixes: Fixes) -> bool:
    if not isinstance(mine, str):
        return False
    if not isinstance(wanted, str):
        raise NotScorable(
            number,
            f"the rule date_match needs a date as text in the target, not {wanted!r}; correct the target message",
        )
    try:
        return date_match(mine, wanted, fixes=fixes)
    except (OverflowError, ValueError) as error:
        if fixes.odd_values_differ:
            return False
        raise StopsOnReply(number, f"{mine!r:.80} and {wanted!r:.80} cannot be compared as dates ({error})") from error


def _pattern(text: Any, number: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, TypeError) as error:
        raise NotScorable(
            number, f"the rule regex_match is {text!r}, no regular expression ({error}); correct the rule"
        ) from error


# -- one by one, as the partial metrics want them


def detailed(predicted: Sequence[ReplyCall], target: Sequence[ReplyCall], *, fixes: Fixes = PARITY) -> list[Flags]:
    """For each predicted call, the parts that agree with a target. Rules do not apply.

    Each level uses up targets of its own; the name alone uses up none, so that several predictions may share one [Q7].
    Targets whose arguments are no JSON are left out.
    """
    wanted = [(call.name, arguments) for call in target if (arguments := _decoded(call, fixes)) is not _NOTHING]
    remaining = {level: list(wanted) for level in LEVELS}
    names = [name for name, _ in wanted]
    found = []
    for call in predicted:
        arguments = _decoded(call, fixes)
        if arguments is _NOTHING:
            found.append(Flags(False, False, False, False))
            continue
        # a target that an earlier call took strictly does not give its name to later ones
        named = call.name in (names if fixes.names_once else [name for name, _ in remaining["strict"]])
        if named and fixes.names_once:
            names.remove(call.name)
        taken = {level: _take(call.name, arguments, level, remaining[level], fixes) for level in LEVELS}
        found.append(Flags(named, **taken))
    return found


def _take(name: str, arguments: Any, level: Level, remaining: list[tuple[str, Any]], fixes: Fixes) -> bool:
    """Use up the first target that is equal at this level."""
    for place, (wanted_name, wanted) in enumerate(remaining):
        if name == wanted_name and _shallow(partial(same_arguments, arguments, wanted, level, fixes=fixes)):
            del remaining[place]
            return True
    return False


# -- decoding

_NOTHING = object()


def decode(arguments: str, number: str = "", *, fixes: Fixes = PARITY) -> Any:
    """Arguments as they were stored: JSON text. Python's JSON decides, so the last of equal names counts and NaN is
    accepted.

    The published evaluator catches errors of JSON alone: it stops on a value that is nested too deeply, and on an
    integer of more digits than Python converts. Raises StopsOnReply there, and _Undecodable for the rest.
    """
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) or fixes.odd_values_differ:
            raise _Undecodable(str(error)) from error
        raise StopsOnReply(number, f"the arguments {arguments[:80]!r} cannot be decoded ({error})") from error


def unreadable_arguments(call: ReplyCall) -> str:
    """Why the arguments of a call cannot be compared, as the end of a sentence; empty if they can."""
    try:
        value = json.loads(call.arguments)
    except json.JSONDecodeError as error:
        return f"are no JSON: {error}" if call.arguments.strip() else "are an empty text and no JSON object"
    except (ValueError, RecursionError) as error:
        return f"cannot be decoded: {error}"
    return "" if isinstance(value, dict) else "are JSON, but no object"


def _decoded(call: ReplyCall, fixes: Fixes) -> Any:
    try:
        return decode(call.arguments, fixes=fixes)
    except _Undecodable:
        return _NOTHING


def _same(mine: Any, wanted: Any, fixes: Fixes) -> bool:
    return _shallow(partial(default_match, mine, wanted, fixes=fixes))


def _shallow(compare: Callable[[], bool]) -> bool:
    """Values that are nested too deeply to be compared are not equal: a model may write them."""
    try:
        return compare()
    except RecursionError:
        return False
