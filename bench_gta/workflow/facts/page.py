"""The content of an HTML page; nothing is fetched and no script runs (GTA-Workflow spec 3.2, "Ours")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from urllib.parse import unquote

HIDDEN = ("script", "style", "template", "noscript")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
CELLS = ("td", "th")
MOST_LINKS = 1_000
PICTURES = ("img", "svg", "canvas")
_NAMES = "a abbr b bdi bdo cite code em i kbd mark q s samp small span strong sub sup time u var"
_INLINE = frozenset(_NAMES.split())  # elements that end no line


class Page(HTMLParser):
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
