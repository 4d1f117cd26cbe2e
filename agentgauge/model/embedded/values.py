"""Values that a text states, by kind: dates, times, codes, names, numbers. ``baseline`` copies them into arguments."""

from __future__ import annotations

import re
from datetime import date, timedelta

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
SPELLED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+")
TIME = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
CODE = re.compile(r"\b(?=[\w-]{0,20}\d)(?=[\w-]{0,20}[A-Za-z])[A-Za-z]{1,12}[- ]?\w{0,12}(?:-\w{1,12})*\b")
COLOUR = re.compile(r"\b(red|green|blue|yellow|black|white|orange|purple|pink|gr[ae]y|brown)\b", re.IGNORECASE)

_WORD = r"[^\W\d_a-z][\w’'-]*"
NAME = rf"{_WORD}(?: {_WORD}){{0,4}}"
_INNER_NAME = re.compile(rf"(?<![.!?:\n] )(?<!\A)(?<!\n)(?<!\w)({NAME})")
_ITEM = rf"(?:{NAME}|[a-zA-Z]{{1,5}}-?\d{{1,9}}\b)"
_LIST = re.compile(rf"({_ITEM})((?:, {_ITEM}){{0,9}}),? (?:and|or|&) ({_ITEM})")
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if name[3:] else name for name in MONTHS)
_ON_DAY = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})|({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?)\b(?:,? (\d{{4}}))?"
    rf"|\b(today|tonight|tomorrow|yesterday|{'|'.join(DAYS)})\b"
    r"|(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)",
    re.IGNORECASE,
)
_QUANTITY = re.compile(r"[^\W\d_]+|(?<![\w.:-])-?\d{1,15}(?:\.\d{1,15})?(?![-:\w])")


def dates(text: str, today: date | None) -> list[str]:
    """The days that the text names, as YYYY-MM-DD. One without a year, or relative to today, needs ``today``."""
    return [day for found in _ON_DAY.finditer(text) if (day := _day(found, today))]


def _day(found: re.Match[str], today: date | None) -> str | None:
    number, month, first_month, first_number, year, relative, iso = found.groups()
    if iso:
        return str(iso)
    if relative and today:
        word = relative.lower()
        days = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}.get(word)
        ahead = (DAYS.index(word) - today.weekday() - 1) % 7 + 1 if days is None else days
        return (today + timedelta(ahead)).isoformat()
    if relative or not (year or today):
        return None
    name = (month or first_month)[:3].lower()
    place = next(place for place, known in enumerate(MONTHS, 1) if known.startswith(name))
    try:
        return date(int(year) if year else today.year if today else 0, place, int(number or first_number)).isoformat()
    except ValueError:  # no day of a calendar
        return None


def day_of(text: str) -> date | None:
    """The first day that stands in the text as YYYY-MM-DD."""
    found = ISO_DATE.search(text)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def times(text: str) -> list[str]:
    """The times of day, as HH:MM."""
    return [f"{int(hour):02}:{minute}" for hour, minute in TIME.findall(text)]


def codes(text: str) -> list[str]:
    """Numbers of things: words with letters and digits, such as QX-4519."""
    return [code for code in CODE.findall(ISO_DATE.sub(" ", text)) if re.search(r"\d", code)]


def names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence and are no day, no month and no I."""
    found = _INNER_NAME.findall(text)
    return [name for name in found if name.lower() not in (*DAYS, *MONTHS) and not re.match(r"I\b", name)]


def listed(text: str) -> list[list[str]]:
    """Lists of names or codes: Oslo, Lisbon and Nairobi."""
    return [[first, *filter(None, between.split(", ")), last] for first, between, last in _LIST.findall(text)]


def quantities(text: str) -> list[tuple[int | float, str, str]]:
    """Numbers, also those in words, each with the word before it and the two behind it; none of a date or a time."""
    words = _QUANTITY.findall(TIME.sub(" ", _ON_DAY.sub(" ", text)))
    found = []
    for place, word in enumerate(words):
        if (value := _number(word)) is not None:
            found.append((value, words[place - 1] if place else "", " ".join(words[place + 1 : place + 3])))
    return found


def _number(word: str) -> int | float | None:
    if word.lower() in SPELLED:
        return SPELLED.index(word.lower())
    if not word.lstrip("-")[:1].isdecimal():
        return None
    value = float(word)
    return int(value) if value.is_integer() else value
