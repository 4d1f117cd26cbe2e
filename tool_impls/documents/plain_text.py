"""Text files of any encoding and the tables in them, read alike by tools and judges, and texts cleaned and cut for
documents (docs/benchmarks/tools.md#reading-documents).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import ClassVar

from agentgauge.core.errors import ToolError
from tool_impls import base
from tool_impls.bounds import FILE_BYTES
from tool_impls.settings import Option

UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot hold: control characters, lone surrogates and two non-characters."""

LONGEST = 2_000_000  # characters of one document to write; about a thousand pages


def clean(text: str) -> str:
    """The text with line ends as ``\\n`` and without the signs that no document can hold."""
    return UNFIT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def columns(text: str) -> int:
    """The width of a text in half-width signs: Chinese ones and their like take two."""
    return len(text) + len(re.findall("[\u2e80-\U0010ffff]", text))


def check_length(name: str, text: str) -> None:
    """Raises ToolError for more than LONGEST characters."""
    if len(text) > LONGEST:
        raise ToolError(f"{name} has {len(text):,} characters; at most {LONGEST:,} fit in one document, so split it")


def paragraphs(text: str) -> list[str]:
    """The stretches between empty lines, without the empty ones (docs/benchmarks/tools.md#writing-documents, plain
    mode)."""
    return [part.strip("\n") for part in re.split(r"\n[ \t]*\n", text) if part.strip()]


def gathered(lines: Iterable[str], limit: int) -> str:
    """The lines joined by newlines, cut at ``limit`` characters with a note. Takes no more lines than it needs."""
    kept: list[str] = []
    length = 0
    for line in lines:
        kept.append(line)
        length += len(line) + 1
        if length - 1 > limit:
            return f"{chr(10).join(kept)[:limit]}\n[cut here: only the first {limit:,} characters are shown]"
    return "\n".join(kept)


MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
SAMPLE = 200_000  # bytes that are looked at to guess an encoding
SURE = 0.08  # confidence of chardet from which its guess holds; below it, guesses on single words are mostly wrong
CHINESE = re.compile(rb"(?:[\x00-\x7f]++|(?:[\xa1-\xa9\xb0-\xd7][\xa1-\xfe])++)*+")  # signs and common words of GB 2312
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f]")  # texts have hardly any; other files have as many as other characters
LATIN = ("Windows-1250", "Windows-1252", "Windows-1254")
ACCENTED = re.compile(r"[\x00-\x7fÀ-ÏÑ-ÖØ-ÝßÀ-ïñ-öø-ýÿ×÷€ŒœŠšŽžŸ–—‘’“”„…•°±²³µ·½¼¾£§©®ªº«»¿¡™‰´¨\xa0]*+")

WITHIN = re.compile("[A-Za-z][“”„•§°±²³£©®ª¿¡™¨][a-zà-ÿ]|[a-z][À-ÖØ-ÝŠŒŽŸ][a-z]")  # no word has these within
LETTERS = re.compile(r"[\x00-\x7fÀ-ÖØ-öø-ÿŒœŸ]*+")
OLDER = ("mac_roman", "cp850")  # Western encodings of programs before 2000, and of some until today

DELIMITERS = "\t;,|"  # the first of equally good ones
ROWS = 20  # that show the delimiter
DECLARED = re.compile(r"sep=(.)\r?\n")  # the first line of a file, for Excel

csv.field_size_limit(FILE_BYTES)  # else a cell may have 131,072 characters


def decode(data: bytes, encoding: str = "") -> str:
    """The text of a file: by its byte order mark, else as UTF-8, else in ``encoding``, or in the one that it most
    probably is in. Single damaged characters become U+FFFD. Raises ToolError for what is no text.
    """
    marked = next((name for mark, name in MARKS.items() if data.startswith(mark)), None)
    for name in (marked,) if marked else ("utf-8", encoding):
        text = _decoded(data, name or _guessed(data), marked is not None)
        if text is None:
            continue
        shown = text.rstrip("\0")  # room that a program had reserved
        allowed = len(shown) // (8 if name else 20)
        if (shown or not text) and ((name and "\0" not in shown) or len(CONTROLS.findall(shown)) <= allowed):
            return shown.replace("\0", "\ufffd")
    raise ToolError(
        f"the file is no text in UTF-8, UTF-16 or {encoding or 'another common encoding'}; save it as UTF-8"
    )


def read_csv(text: str) -> tuple[str, Iterator[list[str]]]:
    """The delimiter of a table, and its rows without the empty ones."""
    if declared := DECLARED.match(text):
        text = text[declared.end() :]
    delimiter = declared[1] if declared else _delimiter(text)
    return delimiter, (row for row in csv.reader(StringIO(text, newline=""), delimiter=delimiter) if row)


def _decoded(data: bytes, name: str, marked: bool) -> str | None:
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        text = data.decode(name, "replace")
    # By chance, bytes of other encodings are characters of UTF-8, but few.
    whole = len(text) if marked or name != "utf-8" else len(text) - len(text.encode("ascii", "ignore"))
    return text if 10 * text.count("\ufffd") <= whole else None


def _guessed(data: bytes) -> str:
    """An encoding that the bytes look like."""
    import chardet

    sample = data[:SAMPLE]
    if len(data) > SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    found = chardet.detect(sample, encoding_era=chardet.EncodingEra.MODERN_WEB, prefer_superset=True)
    name, is_sure = found["encoding"] or "cp1252", found["confidence"] >= SURE
    if name.upper().startswith("UTF"):
        return name
    if not is_sure and CHINESE.fullmatch(sample):
        return "gb18030"
    if _is_western(sample):
        return name if is_sure and name in LATIN else "cp1252"
    older = (one for one in OLDER if not is_sure and _in_words(sample.decode(one)))
    return next(older, name)


def _is_western(data: bytes) -> bool:
    """Whether the bytes are single accented letters and signs among plain ones, as Western languages have them."""
    text = data.decode("cp1252", "replace")
    return ACCENTED.fullmatch(text) is not None and not _is_odd(text)


def _in_words(text: str) -> bool:
    """Whether the text has no signs beyond ASCII but accented letters, most of them beside plain ones."""
    beside = len(re.findall(r"(?<=[A-Za-z])[^\x00-\x7f]|[^\x00-\x7f](?=[A-Za-z])", text))
    foreign = len(text) - len(text.encode("ascii", "ignore"))
    return LETTERS.fullmatch(text) is not None and not _is_odd(text) and 2 * beside > foreign


def _is_odd(text: str) -> bool:
    """Whether Western texts do not look like this."""
    return re.search(r"[^\x00-\x7f]{3}", text) is not None or WITHIN.search(text) is not None


def _delimiter(text: str) -> str:
    """The delimiter that divides most of the first rows, and these most evenly; a comma if none does."""
    start = text[:SAMPLE]

    def divided(delimiter: str) -> tuple[int, int]:
        rows = csv.reader(StringIO(start, newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in islice(rows, ROWS) if len(row) > 1)
        return sum(widths.values()), max(widths.values(), default=0)

    best = max(DELIMITERS, key=divided)
    return best if any(divided(best)) else ","


LIMIT = Option("limit", "int", 100_000, "characters of the answer; a longer text is cut, with a note", least=1)


class ReadingTool(base.BenchTool):
    """Shows the text of a document, cut to a length."""

    category = "operation"
    confined = True
    pure = True
    options: ClassVar[tuple[Option, ...]] = (LIMIT,)
    concurrency = 2
    seconds = 120.0

    def shown(self, lines: Iterable[str]) -> str:
        return gathered(lines, self.option("limit"))
