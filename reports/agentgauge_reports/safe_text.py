"""Makes texts of models and agents safe for labels and the terminal: no control characters, cut to a length."""

from __future__ import annotations

from collections.abc import Iterable

from agentgauge.core.safe_text import clean

__all__ = ["clean", "cut", "line", "markdown"]


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


def _marked(text: str) -> str:
    one = " ".join(clean(text).splitlines()) if len(text.splitlines()) > 1 else clean(text)
    return one.replace("<", "&lt;").replace("](", "]\\(")
