"""Markdown (docs/benchmarks/tools.md#writing-documents): its blocks, and the spans within them.

CommonMark and the tables of GitHub, by markdown-it-py, but for quotes and HTML, which stay as they are written, and for
pictures, which are found as the files of a call are (``agentgauge.core.tools.PICTURE``; a path there may hold spaces).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agentgauge.core.tools import PICTURE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Env = MutableMapping[str, Any]
"""The parser's data about a document: the addresses of its links."""


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

PLACEHOLDER = re.compile(r"\{\{\s{0,9}image_(\d{1,9})\s{0,9}\}\}")
DEEPEST = 8  # levels of a list that are distinguished
DEEPEST_BLOCK, DEEPEST_SPAN = 100, 20  # what blocks hold below is left out; marks below are plain text


@cache
def _parser(deepest: int, tables: bool = True) -> MarkdownIt:
    from markdown_it import MarkdownIt

    class Parser(MarkdownIt):
        """A Markdown parser that keeps addresses as they are written, because they are shown and never followed."""

        def validateLink(self, url: str) -> bool:
            return True

        def normalizeLink(self, url: str) -> str:
            return url

        def normalizeLinkText(self, link: str) -> str:
            return link

    parser = Parser("commonmark", {"maxNesting": deepest}).disable(["blockquote", "html_block", "html_inline"])
    return parser.enable("table") if tables else parser


def _tokens(text: str, env: Env, tables: bool = True) -> list[Token]:
    parser, tokens = _parser(DEEPEST_BLOCK, tables), list[Any]()
    parser.block.parse(text, parser, env, tokens)
    return tokens


def blocks(text: str, tables: bool = True) -> Iterator[Block]:
    """The blocks of a document. ``tables``: parse tables as tables, else as plain lines."""
    env: Env = {}
    lines = text.split("\n")
    numbers: list[int | None] = []  # of the next item, for each list that is open; None for bullets
    rows: list[list[tuple[Span, ...]]] = []  # of the open table
    heading = 0  # level of the open heading
    item: tuple[int | None, int] | None = None  # number and depth of an item whose text is still to come
    in_table = False
    for token in _tokens(text, env, tables):
        match token.type:
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open":
                number = numbers[-1]
                item = (number, min(len(numbers) - 1, DEEPEST))
                numbers[-1] = None if number is None else number + 1
            case "list_item_close":
                item = None
            case "heading_open":
                heading = int(token.tag.removeprefix("h"))
            case "heading_close":
                heading = 0
            case "table_open":
                in_table, rows = True, []
            case "tr_open":
                rows.append([])
            case "table_close":
                in_table = False
                yield Table(tuple(map(tuple, rows)))
            case "fence" | "code_block":
                yield Code(token.content.removesuffix("\n").expandtabs(4))
            case "hr":
                assert token.map is not None
                yield Paragraph((Span(lines[token.map[0]].strip()),))
            case "inline" if in_table:
                rows[-1].append(spans(token.content, env))
            case "inline":
                for part in with_pictures(token.content):
                    if isinstance(part, Picture):
                        yield part
                    elif part.strip():
                        found = spans(part.strip(), env)
                        yield Heading(heading, found) if heading else Item(found, *item) if item else Paragraph(found)
                item = None


def spans(text: str, env: Env | None = None) -> tuple[Span, ...]:
    """The spans of a paragraph, neighbours of one style joined. A link is written as ``label (address)``."""
    parser, tokens = _parser(DEEPEST_SPAN), list[Any]()
    parser.inline.parse(text, parser, {} if env is None else env, tokens)
    runs = groupby(_spans(tokens), key=lambda span: (span.bold, span.italic, span.code))
    joined = ((style, "".join(span.text for span in run)) for style, run in runs)
    return tuple(Span(text, *style) for style, text in joined if text)


def _spans(tokens: Sequence[Token]) -> Iterator[Span]:
    bold = italic = 0  # how many marks are open
    links: list[tuple[str, list[str]]] = []  # address and label of those that are open
    for token in tokens:
        text = token.content
        match token.type:
            case "strong_open" | "strong_close":
                bold += token.nesting
            case "em_open" | "em_close":
                italic += token.nesting
            case "link_open":
                links.append((str(token.attrs["href"]), []))
            case "link_close":
                address, label = links.pop()
                shown = "".join(label)
                text = "" if shown == address else f" ({address})" if shown else address
            case "softbreak" | "hardbreak":
                text = "\n"
            case "image":
                text = f"![{token.content}]({token.attrs['src']})"
        if links:
            links[-1][1].append(text)
        yield Span(text, bold > 0, italic > 0, token.type == "code_inline")


def with_pictures(text: str, paths: bool = True) -> Iterator[str | Picture]:
    """The text between pictures, and the pictures: ``{{image_N}}`` and, with ``paths``, ``![](path)``."""
    index = 0
    found = [(match.span(), Picture(path=match[1].strip())) for match in PICTURE.finditer(text)] if paths else []
    found += [(match.span(), Picture(number=int(match[1]))) for match in PLACEHOLDER.finditer(text)]
    for (start, end), picture in sorted(found, key=lambda one: one[0]):
        if start >= index:
            yield text[index:start]
            yield picture
            index = end
    yield text[index:]


def fenced(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a text: the first word after the fence, in lower case, and the content."""
    fences = [token for token in _tokens(text, {}) if token.type == "fence"]
    return [((fence.info.split() or [""])[0].lower(), fence.content) for fence in fences]
