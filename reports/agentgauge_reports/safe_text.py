"""Makes texts of models and agents safe for labels and the terminal: no control characters, cut to a length."""

from __future__ import annotations

STEERING = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
"""Control characters → pictures of them."""

TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
"""Characters that change the direction of the text after them; they are removed."""

_TABLE = STEERING | TURNING | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)


def clean(text: str) -> str:
    """The text without control characters, unclosed direction marks and lone surrogates."""
    return text.translate(_TABLE)


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
