"""Text for people: lines that fit, columns, links to cases; and texts of models and agents made safe to show."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor, log10
from textwrap import wrap
from typing import Any
from urllib.parse import quote

from agentgauge.core.text import clean, counted
from agentgauge.store.jsonl import CaseId

WIDTH = 80
"""The width of a terminal that does not report one."""


def policy_hash(text: str) -> str:
    """A script or style as a Content-Security-Policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def fill(indent: str, text: str, width: int = WIDTH, *, hanging: str = "") -> list[str]:
    """Lines of at most ``width`` characters; only a longer word overhangs. ``hanging``: indent of further lines."""
    further = indent + hanging
    lines = wrap(
        text, width, initial_indent=indent, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )
    return lines or [indent.rstrip()]


def titled(title: str, texts: Iterable[str], width: int | None) -> Iterator[str]:
    """Each text after the title, in lines of at most ``width`` characters; whole where there is no width."""
    for text in texts:
        yield from [title + text] if width is None else fill("", title + text, width, hanging="  ")


def aligned(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)) -> Iterator[str]:
    """Rows in columns; those of ``left`` are flush left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        padded = (
            text.ljust(width) if place in left else text.rjust(width) for place, (text, width) in enumerate(cells)
        )
        yield "  ".join(padded).rstrip()


def dollars(usd: float) -> str:
    """Dollars with four decimals, and small amounts with two significant digits."""
    decimals = 4 if usd == 0 or usd >= 0.001 else 1 - floor(log10(usd))
    return f"${usd:.{decimals}f}"


def cost(usage: Mapping[str, Any]) -> str:
    """The cost of cases, the share of tokens from the server's cache, and what came from the cache of ``--cache``;
    empty if none of it is known."""
    parts = []
    first = usage.get("saved_usd", 0.0)
    if (usd := usage.get("usd", 0.0)) or first:
        each = usage.get("usd_per_passed")
        estimated = usage.get("estimated_requests")  # runs of earlier versions do not have it
        what = f"cost: {'about ' if estimated else ''}{dollars(usd)}"
        parts.append(what + (f", {dollars(each)} per passed case" if each else ""))
        if estimated:
            parts.append(f"the tokens of {estimated:,} of {counted(usage['requests'], 'request')} are estimated")
    if cached := usage.get("cached_tokens"):
        parts.append(f"{cached / usage['prompt_tokens']:.0%} of the prompt tokens came from the server's cache")
    if kept := usage.get("cached_requests"):
        price = f", which first cost {dollars(first)}" if first else ""
        whole = " (the cost per passed case counts it)" if first and each else ""
        parts.append(f"{kept:,} of {counted(usage['requests'], 'request')} were answered by --cache{price}{whole}")
    return "; ".join(parts)


WAITS = {
    "slots": "waiting for a slot",
    "endpoint": "waiting for the endpoint",
    "tools": "in tools",
    "scoring": "scoring",
}
"""What the seconds of ``usage.times`` in summary.json are, but for those of "working"."""


def case_time(usage: Mapping[str, Any]) -> str:
    """What cases waited for; empty for runs of earlier versions, which did not note it."""
    if not (times := usage.get("times")):
        return ""
    parts = [f"{times[kind]['seconds']:.1f} s {what}" for kind, what in WAITS.items()]
    if cached := times.get("cached"):
        parts.append(f"what came from --cache first took {cached['seconds']:.1f} s")
    return f"working time summed over cases: {times['working']['seconds']:.1f} s; {', '.join(parts)}"


def anchor(case: CaseId) -> str:
    """The fragment of ``report.html`` that opens a case."""
    return "#case=" + "/".join(quote(str(part), safe="", errors="replace") for part in case)


# -- texts cut to what a cell of a table shows

WORDS = 160
"""Characters of a question or a verdict that the list of cases shows."""


# -- texts of models and agents: no control characters, cut to a length


def line(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters."""
    flat = " ".join(clean(text[: 4 * limit]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def cut(text: str, limit: int) -> str:
    """At most about ``limit`` bytes of UTF-8: the beginning and the end, and between them how much is left out."""
    if len(text) <= limit // 4:
        return clean(text)
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return clean(text)
    head, tail = data[: limit * 2 // 3].decode("utf-8", "ignore"), data[-(limit // 3) :].decode("utf-8", "ignore")
    return clean(f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}")


def markdown(lines: Iterable[str]) -> str:
    """A page of Markdown from its lines, in which names may be a stranger's: they begin no line, and are no HTML, link
    or picture."""
    return "\n".join(map(_marked, lines))


FOLD, END_OF_FOLD = "<details><summary>show them</summary>", "</details>"
"""Lines around a part of a page that GitHub and most viewers show once it is asked for."""


def _marked(text: str) -> str:
    if text in (FOLD, END_OF_FOLD):
        return text
    one = " ".join(clean(text).splitlines()) if len(text.splitlines()) > 1 else clean(text)
    return one.replace("<", "&lt;").replace("](", "]\\(")
