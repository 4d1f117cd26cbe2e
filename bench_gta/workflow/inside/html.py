"""HTML pages inside the sandbox: as Markdown for a model, and measured for the judge ``rules``; nothing is fetched and
no script runs (docs/benchmarks/gta_workflow.md#judges).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import unquote

_NOT_SHOWN = ("script", "style", "template", "noscript", "iframe", "object", "svg", "canvas", "select")
_BLOCK_NAMES = (
    "p div section article header footer main nav aside form fieldset figure figcaption address dl dt dd ul ol"
    " blockquote body table"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_STYLES = {"b": "**", "strong": "**", "em": "*", "i": "*"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|<>~])")


def as_markdown(page: str) -> str:
    """The headings, paragraphs, lists, tables, code and pictures of a page. Takes any text."""
    reader = _MarkdownReader()
    reader.feed(page)
    reader.close()
    reader.end_all()
    return "\n".join(reader.lines)


class _MarkdownReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._line: list[str] = []  # of the block that is being read
        self._prefix = ""
        self._hidden: list[str] = []  # open elements that are not shown
        self._lists: list[int | None] = []  # the next number of each open list; None for bullets
        self._code: list[str] | None = None
        self._rows: list[list[str]] = []  # of the table that is being read
        self._tables = 0  # that are open, one within the other
        self._in_cell = False

    def end(self) -> None:
        """End the block: what was read becomes a line of its own."""
        text = re.sub(r"\s+", " ", "".join(self._line)).strip()
        self._line.clear()
        if text:
            self.lines += [self._prefix + text, ""]
        self._prefix = ""

    def end_all(self) -> None:
        """End all open blocks at the end of the page."""
        if self._tables:
            self._cell()
            self._table()
        if self._code is not None:
            self._end_code(self._code)
        self.end()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _NOT_SHOWN:
            self._hidden.append(tag)
        if self._hidden:
            return
        if self._tables and tag not in ("table", "tr", "td", "th", *_STYLES):
            self._line.append(" ")  # blocks within a cell are words of one line
            return
        match tag:
            case "pre":
                self.end()
                self._code = []
            case "ul" | "ol":
                self.end()
                self._lists.append(1 if tag == "ol" else None)
            case "li":
                self.end()
                self._item()
            case "br":
                self.end()
            case "hr":
                self.end()
            case "img":
                self._picture(dict(attrs))
            case "table":
                self.end()
                self._tables += 1
            case "tr":
                self._cell()
                self._rows.append([])
            case "td" | "th":
                self._cell()
                self._in_cell = True
            case _ if tag in _LEVELS:
                self.end()
                self._prefix = "#" * _LEVELS[tag] + " "
            case _ if tag in _STYLES:
                self._line.append(_STYLES[tag])
            case _ if tag in _BLOCKS:
                self.end()

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
            return
        if self._hidden:
            return
        if tag == "pre" and self._code is not None:
            self._end_code(self._code)
        elif tag in ("td", "th", "tr"):
            self._cell()
        elif tag == "table" and self._tables:
            self._cell()
            self._tables -= 1
            if not self._tables:
                self._table()
        elif tag in _STYLES:
            self._line.append(_STYLES[tag])
        elif not self._tables and (tag in _BLOCKS or tag in _LEVELS or tag == "li"):
            self.end()
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        if self._code is not None:
            self._code.append(data)
        else:
            self._line.append(_escaped(data))

    def _cell(self) -> None:
        """End the cell, if there is one: pages may leave out the tags that do."""
        if not self._in_cell:
            self.end()  # a title, or what stands in a wrong place
        elif self._rows:
            self._rows[-1].append(re.sub(r"\s+", " ", "".join(self._line)).strip())
            self._line.clear()
        self._in_cell = False

    def _end_code(self, code: list[str]) -> None:
        text = "".join(code).strip("\n")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        self.lines += [fence, text, fence, ""]
        self._code = None

    def _item(self) -> None:
        indent = "  " * max(len(self._lists) - 1, 0)
        number = self._lists[-1] if self._lists else None
        self._prefix = f"{indent}- " if number is None else f"{indent}{number}. "
        if number is not None:
            self._lists[-1] = number + 1

    def _picture(self, attrs: dict[str, str | None]) -> None:
        source = (attrs.get("src") or "").strip()
        if source and not source.startswith("data:") and not re.search(r"[\s()]", source):
            self.end()
            self.lines += [f"![]({source})", ""]
        else:
            self._line.append(f"[picture: {_escaped(attrs.get('alt') or 'without a name')}]")

    def _table(self) -> None:
        rows = [row for row in self._rows if any(row)]
        self._rows.clear()
        if rows:
            width = max(map(len, rows))
            lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
            self.lines += [lines[0], "|" + "---|" * width, *lines[1:], ""]


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


HIDDEN = ("script", "style", "template", "noscript")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
CELLS = ("td", "th")
MOST_LINKS = 1_000
PICTURES = ("img", "svg", "canvas")
_INLINE_NAMES = "a abbr b bdi bdo cite code em i kbd mark q s samp small span strong sub sup time u var"
_INLINE = frozenset(_INLINE_NAMES.split())  # elements that end no line


class PageMeasurer(HTMLParser):
    """A parser of a page: feed it, close it, then read the result. An unclosed part hides only its own content."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._counts: Counter[str] = Counter()
        self._texts: list[str] = []
        self._links: list[str] = []
        self._hidden = 0  # elements of HIDDEN that are open
        self._cells: list[int] = []  # of each row

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._counts[tag] += 1
        if tag in HIDDEN:
            self._hidden += 1
        elif tag == "tr":
            self._cells.append(0)
            self._texts.append("\n")
        elif tag in CELLS:
            if self._cells:
                self._cells[-1] += 1
            self._texts.append(" | ")
        elif tag not in _INLINE:
            self._texts.append("\n")
        if tag == "a":
            targets = (value for name, value in attrs if name == "href" and value)
            self._links += [unquote(target.strip()) for target in targets if target.strip(" #")]
        elif tag == "img":
            self._texts += [f" {value} " for name, value in attrs if name == "alt" and value]

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag not in _INLINE and tag not in CELLS:
            self._texts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._texts.append(data.replace("\n", " "))  # a line end of the source is a blank on the page

    def text(self) -> str:
        """The visible text, the title first: a line for each block and each row, whose cells ``" | "`` separates."""
        lines = (" ".join(line.split()).strip(" |") for line in "".join(self._texts).split("\n"))
        return "\n".join(line for line in lines if line)

    def links(self) -> list[str]:
        """The targets of the links, at most MOST_LINKS, such as ``mailto:info@shop.example``. Empty targets are left
        out.
        """
        return self._links[:MOST_LINKS]

    def measures(self) -> dict[str, int]:
        rows = [cells for cells in self._cells if cells]
        return {
            "tables": self._counts["table"],
            "rows": len(rows),
            "columns": max(rows, default=0),
            "pictures": sum(self._counts[tag] for tag in PICTURES),
            "headings": sum(self._counts[tag] for tag in HEADINGS),
            "paragraphs": self._counts["p"],
            "links": len(self._links),
        }
