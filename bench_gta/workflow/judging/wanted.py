"""Whether a text holds a text or a number, as a reader would say (the judge ``rules``; GTA-Workflow spec 3.3, "Ours").

Texts are compared without regard to case, white space and the many forms of quotes and dashes, and only as whole words.
Numbers are found as numbers: 1,234.5 and 1 234.5 are the number 1234.5, and 34 is not in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from statistics import StatisticsError, correlation

_SIGNS = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2013\u2014\u2212", "''\"\"-----")
MOST_CLAUSES = 4  # that are read together
ALIKE = 0.9  # correlation of the fields' brightness
_SENTENCE = re.compile(r"[.!?](?=\s)|\n(?!\s*[a-z])|\s\|\s")
_CLAUSE = re.compile(r"[,;:](?=\s)|\s[-\u2013\u2014]\s|\u2014|[()]")
_DATE = re.compile(r"(?<!\d)(?:\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}(?::\d{2})?)(?!\d)")
_GAP = "[\u00a0\u2007\u2009\u202f ]"  # spaces that may separate thousands
_RUN = re.compile(
    rf"(?<![\w.,])(?P<sign>(?<![\w)\]%])[-+\u2212])?(?P<run>\d{{1,3}}(?:{_GAP}\d{{3}})+(?:[.,]\d+)?(?![\d.,])|\d+(?:[.,'\u2019]\d+)*)"
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
