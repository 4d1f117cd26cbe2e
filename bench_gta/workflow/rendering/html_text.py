"""An HTML page as Markdown: its text, without its layout (GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HIDDEN = ("script", "style", "template", "noscript", "iframe", "object", "svg", "canvas", "select")
_NAMES = (
    "p div section article header footer main nav aside form fieldset figure figcaption address dl dt dd ul ol"
    " blockquote body table"
)
_BLOCKS = frozenset(_NAMES.split())
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_STYLES = {"b": "**", "strong": "**", "em": "*", "i": "*"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|<>~])")


def as_markdown(page: str) -> str:
    """The headings, paragraphs, lists, tables, code and pictures of a page. Takes any text."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    reader.end_all()
    return "\n".join(reader.lines)


class _Reader(HTMLParser):
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
        if tag in _HIDDEN:
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
