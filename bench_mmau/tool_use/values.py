"""Comparing the values of arguments: the text rules of the accuracy, dates, and the three partial levels (MMAU spec
4.3, 4.4)."""

from __future__ import annotations

import string
import warnings
from datetime import datetime
from typing import Any, Literal

from bench_mmau.fixes import PARITY, Fixes

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
    published evaluator does (MMAU spec 4.3).
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
