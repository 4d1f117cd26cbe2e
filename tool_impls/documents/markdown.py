"""The part of Markdown that documents are written in (GTA tools spec 5.1): blocks, and spans within them.

Headings 1 to 6, bullet and numbered lists, fenced code, pictures, tables where asked for; bold, italic, inline code,
and links as ``label (address)``. Whatever is unclosed stays as it is written. Time grows with the length of the text,
whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from tool_impls.naming import PICTURE


@dataclass(frozen=True, slots=True)
class Span:
    """Text in one style."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    level: int  # 1 to 6
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list. ``number``: as written, None for a bullet. ``depth``: from 0."""

    spans: tuple[Span, ...]
    number: int | None
    depth: int


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture by the path that the text has, or by its number from 1."""

    path: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, the first being the heading. All rows are equally long."""

    rows: tuple[tuple[tuple[Span, ...], ...], ...]


Block = Heading | Paragraph | Item | Code | Picture | Table

HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
ITEM = re.compile(r"([ \t]*)(?:[-*+]|(\d{1,9})[.)])[ \t]+(.*)")
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^`]*)")
PLACEHOLDER = re.compile(r"\{\{\s{0,9}image_(\d{1,9})\s{0,9}\}\}")
DEEPEST = 8  # levels of a list that are told apart


def blocks(text: str, tables: bool = True) -> Iterator[Block]:
    """The blocks of a document. ``tables``: take tables as such, else as the lines that they are."""
    lines = text.split("\n")
    at = 0
    lists = _Lists()
    waiting: list[str] = []  # lines of a paragraph, or of an item where there is one
    item: tuple[int | None, int] | None = None  # number and depth

    def flush() -> Iterator[Block]:
        nonlocal item
        for part in with_pictures("\n".join(line.strip() for line in waiting)):
            if isinstance(part, Picture):
                yield part
            elif part.strip():
                yield Item(spans(part.strip()), *item) if item else Paragraph(spans(part.strip()))
        waiting.clear()
        item = None

    while at < len(lines):
        line = lines[at]
        at += 1
        if entry := ITEM.fullmatch(line):
            yield from flush()
            item = lists.place(len(entry[1].expandtabs(4)), int(entry[2]) if entry[2] else None)
            waiting.append(entry[3])
        elif not line.strip():
            yield from flush()
        elif fence := FENCE.fullmatch(line):
            yield from flush()
            end = closing(lines, at, fence[1])
            yield Code("\n".join(lines[at:end]).expandtabs(4))
            at = end + 1
        elif heading := HEADING.fullmatch(line):
            yield from flush()
            lists.end()
            yield Heading(len(heading[1]), spans(_without_closing(heading[2])))
        elif tables and "|" in line and at < len(lines) and _is_rule(lines[at]):
            yield from flush()
            lists.end()
            end = at + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield _table([line, *lines[at + 1 : end]])
            at = end
        else:
            if not waiting and not line[0].isspace():
                lists.end()
            waiting.append(line)
    yield from flush()


def closing(lines: list[str], at: int, fence: str) -> int:
    """The line that ends a fenced block, or the end of the text."""
    for place in range(at, len(lines)):
        line = lines[place].strip()
        if len(line) >= len(fence) and line.startswith(fence) and not line.strip(fence[0]):
            return place
    return len(lines)


class _Lists:
    """How deep the lists are nested, and how far each has counted."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int | None]] = []  # indent in columns, number of the last item

    def place(self, indent: int, number: int | None) -> tuple[int | None, int]:
        """Number and depth of the next item. Within a list numbers count on, whatever is written."""
        while self._open and self._open[-1][0] > indent + 1:
            self._open.pop()
        last = None
        if self._open and self._open[-1][0] >= indent - 1:
            last = self._open.pop()[1]
        if number is not None and last is not None:
            number = last + 1
        self._open.append((indent, number))
        return number, min(len(self._open) - 1, DEEPEST)

    def end(self) -> None:
        self._open.clear()


def _without_closing(heading: str) -> str:
    """A heading's text without the number signs that may follow it."""
    heading = heading.strip()
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else heading


def _is_rule(line: str) -> bool:
    """Whether the line is the one below a table's heading: |---|:-:|."""
    if "|" not in line or "-" not in line:
        return False
    return all(re.fullmatch(r":?-+:?", cell.strip()) for cell in _inner(line).split("|"))


def _table(lines: list[str]) -> Table:
    rows = [
        [spans(cell.strip().replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", _inner(line))] for line in lines
    ]
    width = len(rows[0])
    return Table(tuple(tuple(row[:width] + [()] * (width - len(row))) for row in rows))


def _inner(line: str) -> str:
    line = line.strip().removeprefix("|")
    return line[:-1] if line.endswith("|") and not line.endswith("\\|") else line


def with_pictures(text: str, paths: bool = True) -> Iterator[str | Picture]:
    """The text between pictures, and the pictures: ``{{image_N}}`` and, with ``paths``, ``![](path)``."""
    place = 0
    found = [(match.span(), Picture(path=match[1].strip())) for match in PICTURE.finditer(text)] if paths else []
    found += [(match.span(), Picture(number=int(match[1]))) for match in PLACEHOLDER.finditer(text)]
    for (start, end), picture in sorted(found, key=lambda one: one[0]):
        if start >= place:
            yield text[place:start]
            yield picture
            place = end
    yield text[place:]


TOKEN = re.compile(
    r"""\\(?P<escaped>[\\`*_{}\[\]()#+\-.!|<>~])
      | (?P<ticks>`+)
      | \[(?P<label>[^\[\]]*)\]\((?P<address>[^()\s]*(?:\([^()\s]*\)[^()\s]*)?)(?:[ \t]+"[^"\n]*")?\)
      | <(?P<bare>https?://[^\s<>]*)>
      | (?P<stars>\*+|_+)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """One or two stars or underlines."""

    sign: str
    opens: bool
    closes: bool


def spans(text: str) -> tuple[Span, ...]:
    """The spans of a paragraph, neighbours of one style joined."""
    pieces = list(_pieces(text))
    closers = Counter(piece.sign for piece in pieces if isinstance(piece, _Mark) and piece.closes)
    within: set[str] = set()
    styled: list[tuple[Span, str]] = []  # the style as an empty span, and the text
    for piece in pieces:
        style = Span("", bold=bool(within & {"**", "__"}), italic=bool(within & {"*", "_"}))
        if isinstance(piece, Span):
            styled.append((replace(style, code=piece.code), piece.text))
            continue
        if piece.closes:
            closers[piece.sign] -= 1
        if piece.sign in within and piece.closes:
            within.remove(piece.sign)
        elif piece.sign not in within and piece.opens and closers[piece.sign] > 0:
            within.add(piece.sign)
        else:
            styled.append((style, piece.sign))
    runs = groupby((one for one in styled if one[1]), key=lambda one: one[0])
    return tuple(replace(style, text="".join(text for _, text in run)) for style, run in runs)


def _pieces(text: str) -> Iterator[Span | _Mark]:
    runs: dict[int, list[int]] = {}  # where runs of backticks of each length begin
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    place = 0
    while match := TOKEN.search(text, place):
        yield Span(text[place : match.start()])
        place = match.end()
        if match["escaped"]:
            yield Span(match["escaped"])
        elif ticks := match["ticks"]:
            same = runs.get(len(ticks), [])
            next_ = bisect_left(same, place)
            if next_ == len(same):
                yield Span(ticks)
            else:
                yield Span(text[place : same[next_]].strip() or text[place : same[next_]], code=True)
                place = same[next_] + len(ticks)
        elif match["label"] is not None:
            label, address = match["label"], match["address"]
            yield from _pieces(label)
            yield Span(f" ({address})" if label and label != address else "" if label else address)
        elif match["bare"]:
            yield Span(match["bare"])
        else:
            yield from _marks(text, match)
    yield Span(text[place:])


def _marks(text: str, match: re.Match[str]) -> Iterator[Span | _Mark]:
    """A run of stars or underlines: three are bold and italic at once, more are just that."""
    run = match[0]
    before, after = text[match.start() - 1 : match.start()] or " ", text[match.end() : match.end() + 1] or " "
    opens, closes = not after.isspace(), not before.isspace()
    if run[0] == "_":  # within a word it is a part of the name
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    elif len(run) == 1 and _is_ascii_word(before) and _is_ascii_word(after):  # 2*3*4
        opens = closes = False
    if len(run) > 3 or not (opens or closes):
        yield Span(run)
        return
    for size in {1: (1,), 2: (2,), 3: (2, 1)}[len(run)]:
        yield _Mark(run[0] * size, opens, closes)


def _is_ascii_word(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def fenced(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a text: what each is marked with, in lower case, and its content."""
    lines = text.replace("\r\n", "\n").split("\n")
    found = []
    at = 0
    while at < len(lines):
        fence = FENCE.fullmatch(lines[at])
        at += 1
        if fence:
            end = closing(lines, at, fence[1])
            found.append(((fence[2].split() or [""])[0].lower(), "\n".join(lines[at:end])))
            at = end + 1
    return found
