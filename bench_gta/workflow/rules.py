"""The judge ``rules``: checks an answer and files against the conditions in a leaf's ``check``
(docs/benchmarks/gta_workflow.md#conditions-of-the-embedded-judge).

It needs no model, so that the bundled data set can be run, and its scores expected, offline. A check is an object:

    {"answer": {CONDITION, ...}}                       the final answer
    {"file": "*.pdf", CONDITION, ...}                  a delivered file whose name fits; the one that fits best counts
    {"all": [CHECK, ...]}  {"any": [CHECK, ...]}       several checks; of any, the one that is met best counts

Conditions on a file and on the answer:

    "contains": [TEXT or [TEXT, ...], ...]             texts that must stand in it; of an inner list, one
    "lacks": [TEXT, ...]                               texts that must not
    "numbers": [NUMBER or {"value", "tolerance"}, ...] numbers that must stand in it
    "says": [{"all": [TEXT or [TEXT, ...], ...], "none": [TEXT, ...]}, ...]
                                                       statements: a part of one sentence has all of these texts, and
                                                       none of those, so that "take A, not B" does not say that B is
                                                       taken (``spans``)
    "json": {"is": "object" or "list", "keys": [TEXT, ...], "values": {KEY: VALUE, ...}}
                                                       the JSON that a file holds, or that the answer is or has in a
                                                       fence: keys that it (or every item of the list) has; values of an
                                                       object, lists in any order
    "words": RANGE                                     and, of a file, every other measure of ``facts.MEASURES``:
                                                       "pages", "rows" ...

and on a file only:

    "shows": [TEXT or [TEXT, ...], ...]                texts that can be read in the picture or the video, or in charts
                                                       and pictures of a document
    "resembles": LOOK                                  the picture, or the video's first frame, looks like this
                                                       (``facts.Facts``)
    "links_to": [TEXT, ...]                            texts that stand in the target of a link of the page
    "count": RANGE                                     how many files fit the name; at least one unless it says more

RANGE is a number or an object with ``min``, ``max`` or both. Names are shell patterns, without regard to case. The
score is 10 times the share of conditions that hold; each text and each number is one. Without an answer, or a file of
that name that can be read, none holds; that there is one earns nothing by itself, except where it is all that is asked
for.

Texts are compared without regard to case, white space and the many forms of quotes and dashes, and only as whole words.
Numbers are found as numbers: 1,234.5 and 1 234.5 are the number 1234.5, and 34 is not in it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import StatisticsError, correlation
from typing import Any

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json
from bench_gta.workflow.facts import MEASURES, Facts
from bench_gta.workflow.inside.kinds import usual_name

ANSWER_WORDS = ("contains", "lacks", "numbers", "says", "json", "words")
FILE_WORDS = ("file", "count", "shows", "resembles", "links_to", *ANSWER_WORDS[:-1], *MEASURES)
STATEMENT_WORDS = ("all", "none")
JSON_WORDS = ("is", "keys", "values")
KINDS_OF_CHECK = ("answer", "file", "all", "any")
FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
MOST_MISSING = 6  # conditions that an analysis names


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: whether it holds, and the message if it does not; empty if the message of another outcome
    suffices.
    """

    holds: bool
    words: str


def judge(check: Json, *, answer: str, files: Sequence[Facts]) -> tuple[float, str]:
    """A score from 0 to 10, and an analysis in a few sentences on what is missing. Raises DataProblem for a check that
    breaks the rules above."""
    outcomes = _outcomes(check, answer, files)
    met = [outcome for outcome in outcomes if outcome.holds]
    missed = [outcome.words for outcome in outcomes if not outcome.holds and outcome.words]
    analysis = f"{len(met)} of {len(outcomes)} conditions hold."
    if missed:
        more = f"; and {len(missed) - MOST_MISSING} more" if len(missed) > MOST_MISSING else ""
        analysis += f" Missing: {'; '.join(missed[:MOST_MISSING])}{more}."
    return 10.0 * len(met) / len(outcomes), analysis


def validate(check: Json) -> None:
    """Raises DataProblem for a check that ``judge`` would refuse."""
    _outcomes(check, "", ())


def reads_pictures(check: Json) -> bool:
    """Whether the check asks for text in a picture or a video, so that ``facts`` needs ``read``."""
    if isinstance(check, Mapping):
        return "shows" in check or any(map(reads_pictures, check.values()))
    return isinstance(check, list) and any(map(reads_pictures, check))


def _outcomes(check: Json, answer: str, files: Sequence[Facts]) -> list[Condition]:
    found = [word for word in KINDS_OF_CHECK if isinstance(check, Mapping) and word in check]
    if len(found) != 1:
        raise DataProblem(f"a check must be an object with one of {', '.join(KINDS_OF_CHECK)}; got {str(check)[:80]}")
    (word,) = found
    if word == "file":
        return _file_outcomes(check, files)
    if len(check) > 1:
        other = next(key for key in check if key != word)
        raise DataProblem(f"a check with {word!r} takes no other word beside it; got {other!r}")
    value = check[word]
    if word == "answer":
        return _answer_outcomes(value, answer)
    if not isinstance(value, list) or not value:
        raise DataProblem(f"{word!r} in a check must be a list of at least one check; got {str(value)[:80]}")
    parts = [_outcomes(part, answer, files) for part in value]
    return [outcome for part in parts for outcome in part] if word == "all" else _best(parts)


def _answer_outcomes(conditions: Json, answer: str) -> list[Condition]:
    _check_words(conditions, ANSWER_WORDS, "an answer")
    measures = {"words": float(len(answer.split()))}
    outcomes = _text_outcomes(conditions, "the answer", answer)
    outcomes += _json_outcomes(conditions, "the answer", _json_in(answer))
    outcomes += _measure_outcomes(conditions, "the answer", measures)
    if answer.strip():
        return outcomes or [Condition(True, "")]
    return _none_of(outcomes, "there is no answer")


def _file_outcomes(check: Mapping[str, Json], files: Sequence[Facts]) -> list[Condition]:
    _check_words(check, FILE_WORDS, "a file")
    pattern = check["file"]
    if not isinstance(pattern, str) or not pattern.strip():
        raise DataProblem(f"'file' in a check must be a name or a pattern such as '*.pdf'; got {pattern!r}")
    low, high = _range("count", check["count"]) if "count" in check else (1.0, math.inf)
    if low < 1:
        raise DataProblem(f"'count' in a check must ask for at least one file; got {check['count']!r}")
    fitting = [file for file in files if fnmatchcase(usual_name(file.name).casefold(), pattern.casefold())]
    if sound := [file for file in fitting if not file.broken]:
        number = "1 file was" if len(sound) == 1 else f"{len(sound)} files were"
        counted = Condition(
            low <= len(sound) <= high, f"of {pattern} {number} delivered, {_asked(low, high)} asked for"
        )
        best = _best([_conditions(check, file) for file in sound])
        return [*([counted] if "count" in check or not best else []), *best]
    reason = f"{fitting[0].name} cannot be read: {fitting[0].broken}" if fitting else f"no file {pattern} was delivered"
    return _none_of(_conditions(check, Facts(pattern, "other", 0)), reason)


def _none_of(outcomes: Sequence[Condition], reason: str) -> list[Condition]:
    """As many conditions as there are, none of which holds, for one reason."""
    return [Condition(False, reason), *(Condition(False, "") for _ in outcomes[1:])]


def _conditions(check: Mapping[str, Json], file: Facts) -> list[Condition]:
    """All conditions but the count."""
    links = [folded(link) for link in file.links]
    return [
        *_text_outcomes(check, file.name, file.text),
        *_texts("shows", check, lambda text: holds(folded(file.shown), text), f"{file.name} shows no"),
        *_texts("links_to", check, lambda text: any(text in link for link in links), f"{file.name} has no link to"),
        *_look_outcomes(check, file),
        *_measure_outcomes(check, file.name, file.measures),
        *_json_outcomes(check, file.name, file.parsed),
    ]


def _text_outcomes(conditions: Mapping[str, Json], where: str, text: str) -> list[Condition]:
    compared = folded(text)
    outcomes = _texts("contains", conditions, lambda wanted: holds(compared, wanted), f"{where} does not say")
    for wanted in _list("lacks", conditions):
        unwanted = _text("lacks", wanted)
        outcomes.append(Condition(not holds(compared, unwanted), f"{where} says {wanted!r}, which it should not"))
    for number in _list("numbers", conditions):
        value, tolerance = _number(number)
        within = f" (within {tolerance:g})" if tolerance else ""
        outcomes.append(
            Condition(holds_number(text, value, tolerance), f"{where} lacks the number {value:.12g}{within}")
        )
    return [*outcomes, *(_statement(statement, where, text) for statement in _list("says", conditions))]


def _statement(statement: Json, where: str, text: str) -> Condition:
    _check_words(statement, STATEMENT_WORDS, "'says'")
    wanted = [choices if isinstance(choices, list) and choices else [choices] for choices in _list("all", statement)]
    needed = [[_text("says", choice) for choice in choices] for choices in wanted]
    if not needed:
        raise DataProblem(f"a statement of 'says' in a check must have 'all'; got {str(statement)[:80]}")
    unwanted = [_text("says", word) for word in _list("none", statement)]
    is_stated = any(
        all(any(holds(span, choice) for choice in choices) for choices in needed)
        and not any(holds(span, word) for word in unwanted)
        for span in spans(text)
    )
    return Condition(
        is_stated, f"{where} has no sentence that says {' and '.join(repr(choices[0]) for choices in wanted)}"
    )


def _look_outcomes(check: Mapping[str, Json], file: Facts) -> list[Condition]:
    if "resembles" not in check:
        return []
    look = _text("resembles", check["resembles"])
    if not re.fullmatch(r"[0-9a-f]{128}", look):
        raise DataProblem(f"'resembles' in a check must be 128 hexadecimal digits; got {str(look)[:80]!r}")
    return [Condition(resembles(file.look, look), f"{file.name} does not look like the original")]


def _texts(word: str, conditions: Mapping[str, Json], is_there: Callable[[str], bool], missing: str) -> list[Condition]:
    outcomes = []
    for wanted in _list(word, conditions):
        choices = wanted if isinstance(wanted, list) and wanted else [wanted]
        met = [is_there(_text(word, choice)) for choice in choices]
        outcomes.append(Condition(any(met), f"{missing} {' or '.join(repr(choice) for choice in choices)}"))
    return outcomes


def _measure_outcomes(conditions: Mapping[str, Json], where: str, measures: Mapping[str, float]) -> list[Condition]:
    outcomes = []
    for word in (word for word in MEASURES if word in conditions):
        low, high = _range(word, conditions[word])
        value = measures.get(word)
        if value is None:
            outcomes.append(Condition(False, f"{where} has no {word} to measure, {_asked(low, high)} asked for"))
            continue
        words = f"{where} has {value:g} {word if value != 1 else word.removesuffix('s')}, {_asked(low, high)} asked for"
        outcomes.append(Condition(low <= value <= high, words))
    return outcomes


def _json_outcomes(conditions: Mapping[str, Json], where: str, parsed: Json) -> list[Condition]:
    if "json" not in conditions:
        return []
    wanted = conditions["json"]
    _check_words(wanted, JSON_WORDS, "'json'")
    kind = wanted.get("is", "object")
    if kind not in ("object", "list"):
        raise DataProblem(f"'is' of 'json' in a check must be 'object' or 'list'; got {kind!r}")
    if not isinstance(values := wanted.get("values", {}), Mapping):
        raise DataProblem(f"'values' of 'json' in a check must be an object; got {str(values)[:80]}")
    fits = isinstance(parsed, dict if kind == "object" else list)
    items = ([parsed] if kind == "object" else parsed) if fits else []
    outcomes = [Condition(fits, f"{where} holds no JSON {kind}")]
    for key in _list("keys", wanted):
        found = bool(items) and all(isinstance(item, dict) and key in item for item in items)
        outcomes.append(Condition(found, f"{where} lacks the key {key!r}"))
    for key, value in values.items():
        has = isinstance(parsed, dict) and key in parsed and _sorted(parsed[key]) == _sorted(value)
        outcomes.append(Condition(has, f"{where} does not have {json.dumps(value)[:120]} as {key!r}"))
    return outcomes


def _json_in(answer: str) -> Json:
    """The value of an answer that is JSON, all of it or what stands in its first fence; None for another one."""
    fence = FENCE.search(answer)
    try:
        return json.loads(fence[1] if fence else answer)
    except (ValueError, RecursionError):
        return None


def _sorted(value: Json) -> Json:
    """A list in an order of its own, so that lists are compared without regard to theirs."""
    return sorted(value, key=lambda item: json.dumps(item, sort_keys=True)) if isinstance(value, list) else value


def _best(parts: Sequence[list[Condition]]) -> list[Condition]:
    """The part with the largest share of conditions that hold, the first of equals."""
    return max(parts, key=lambda part: sum(outcome.holds for outcome in part) / len(part) if part else 1.0)


def _check_words(conditions: Json, accepted: Sequence[str], subject: str) -> None:
    if not isinstance(conditions, Mapping):
        raise DataProblem(f"the conditions on {subject} in a check must be an object; got {str(conditions)[:80]}")
    for word in conditions:
        if word not in accepted:
            raise DataProblem(f"a check knows no condition {word!r} on {subject}; accepted are {', '.join(accepted)}")


def _list(word: str, conditions: Mapping[str, Json]) -> list[Any]:
    value = conditions.get(word, [])
    if not isinstance(value, list) or (word in conditions and not value):
        raise DataProblem(f"{word!r} in a check must be a list with at least one entry; got {str(value)[:80]}")
    return value


def _text(word: str, value: Json) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataProblem(f"{word!r} in a check must hold strings; got {value!r}")
    return folded(value)


def _number(value: Json) -> tuple[float, float]:
    parts = value if isinstance(value, Mapping) else {"value": value}
    if "value" not in parts or set(parts) - {"value", "tolerance"} or not all(map(_is_number, parts.values())):
        accepted = "numbers or objects with 'value' and 'tolerance'"
        raise DataProblem(f"'numbers' in a check must hold {accepted}; got {str(value)[:80]}")
    return float(parts["value"]), float(parts.get("tolerance", 0))


def _range(word: str, value: Json) -> tuple[float, float]:
    if _is_number(value):
        return float(value), float(value)
    ends = value if isinstance(value, Mapping) else {}
    if not ends or set(ends) - {"min", "max"} or not all(map(_is_number, ends.values())):
        accepted = "a number or an object with 'min' or 'max'"
        raise DataProblem(f"{word!r} in a check must be {accepted}; got {str(value)[:80]}")
    low, high = float(ends.get("min", 1 if word == "count" else -math.inf)), float(ends.get("max", math.inf))
    if low > high:
        raise DataProblem(f"{word!r} in a check has a min above its max; got {value}")
    return low, high


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _asked(low: float, high: float) -> str:
    if low == high or math.isinf(high):
        return f"{'' if low == high else 'at least '}{low:g} {'was' if low == 1 else 'were'}"
    return f"at most {high:g} were" if math.isinf(low) else f"{low:g} to {high:g} were"


_SIGNS = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u2212", "''\"\"-----")
MOST_CLAUSES = 4  # that are read together
ALIKE = 0.9  # correlation of the fields' brightness
_SENTENCE = re.compile(r"[.!?](?=\s)|\n(?!\s*[a-z])|\s\|\s")
_CLAUSE = re.compile(r"[,;:](?=\s)|\s[-\u2013\u2014]\s|\u2014|[()]")
_DATE = re.compile(r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)")
_GAP = "[\u00a0\u2007\u2009\u202f ]"  # spaces that may separate thousands
_RUN = re.compile(
    rf"(?<![\w.,])(?P<sign>(?<![\w)\]%])[-+\u2212])?"
    rf"(?P<run>\d{{1,3}}(?:{_GAP}\d{{3}})+(?:[.,]\d+)?(?![\d.,])|\d+(?:[.,'\u2019]\d+)*)"
)


def folded(text: str) -> str:
    """The text in a normal form for comparisons."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_SIGNS).casefold().split())


def holds(text: str, wanted: str) -> bool:
    """Whether ``wanted`` stands in ``text`` (both ``folded``) as whole words, and as whole numbers: 7 is not in 12.7.
    At a sign that is neither, anything may follow."""
    if wanted not in text:  # most are not, and every pattern is compiled
        return False
    before = r"(?<!\w)" if wanted[:1].isalnum() else ""
    after = r"(?!\w)" if wanted[-1:].isalnum() else ""
    if wanted[:1].isdigit():
        before += r"(?<!\d[.,:])"
    if wanted[-1:].isdigit():
        after += r"(?![.,:]\d)"
    return bool(re.search(f"{before}{re.escape(wanted)}{after}", text))


def spans(text: str) -> Iterator[str]:
    """The clauses of each sentence, and up to MOST_CLAUSES that follow each other in it, ``folded``.

    A sentence ends at . ! ? before a blank, and at a line end unless a small letter follows, as where a PDF breaks a
    line. Clauses are separated by commas, semicolons, colons, brackets and dashes.
    """
    for sentence in _SENTENCE.split(text):
        clauses = [clause for clause in map(folded, _CLAUSE.split(sentence)) if clause]
        for first in range(len(clauses)):
            for last in range(first, min(first + MOST_CLAUSES, len(clauses))):
                yield " , ".join(clauses[first : last + 1])


def resembles(look: str, wanted: str) -> bool:
    """Whether two pictures look alike: their fields (``facts.Facts.look``) are bright and dark at the same places."""
    try:
        return correlation(list(bytes.fromhex(look)), list(bytes.fromhex(wanted))) >= ALIKE
    except (ValueError, StatisticsError):  # one has other fields, or is all of one brightness
        return False


def holds_number(text: str, wanted: float, tolerance: float = 0.0) -> bool:
    """Whether a number within ``tolerance`` of ``wanted`` stands in ``text``."""
    return any(abs(number - wanted) <= tolerance + 1e-9 for number in numbers(text))


def numbers(text: str) -> Iterator[float]:
    """The numbers of a text in order. Thousands may be separated by commas, points, apostrophes or thin spaces.

    Dates such as 2026-05-04 and times such as 9:30 are none, nor are numbers that follow a letter (A4, x2) or have
    several points (1.2.3). 1,234 is read as thousands, 1,2 and 0,25 as decimals; digits in a longer row of commas
    (1,2,3) are numbers each. Numbers with a blank between groups of three (12 500) count as one and as its parts.
    """
    for found in _RUN.finditer(_DATE.sub(" ", text)):
        factor = -1.0 if found["sign"] in ("-", "\u2212") else 1.0
        for value in _values(found["run"]):
            yield factor * value


def _values(run: str) -> list[float]:
    groups = re.split(_GAP, run)
    if len(groups) > 1:
        joined = _values("".join(groups))
        return joined + ([value for group in groups for value in _values(group)] if " " in run else [])
    parts = re.split(r"[.,'\u2019]", run)
    marks = [sign for sign in run if not sign.isdigit()]
    if not marks:
        return [float(run)]
    whole, last, rest = parts[:-1], marks[-1], marks[:-1]
    if len(marks) == 1 and (last == "." or (last == "," and not _grouped(parts))):
        return [float(f"{parts[0]}.{parts[1]}")]
    if len(set(marks)) == 1 and _grouped(parts):
        return [float("".join(parts))]
    if last in ".," and len(set(rest)) == 1 and rest[0] != last and _grouped(whole):
        return [float(f"{''.join(whole)}.{parts[-1]}")]
    return [float(part) for part in parts] if set(marks) == {","} else []


def _grouped(parts: list[str]) -> bool:
    """Whether the parts are those of one number whose thousands are separated: 1, 234, 567."""
    return 1 <= len(parts[0]) <= 3 and parts[0][0] != "0" and all(len(part) == 3 for part in parts[1:])
