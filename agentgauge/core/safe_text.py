"""Texts of models, of agents and of files that came from anywhere, made safe for a terminal."""

from __future__ import annotations

import re
from typing import TextIO

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_EIGHT_BITS = dict.fromkeys(range(0x80, 0xA0), 0xFFFD)  # some terminals obey these control characters, too
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_TABLE = _PICTURES | _EIGHT_BITS | _TURNING | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_UNSAFE = re.compile(f"[{re.escape(''.join(map(chr, _TABLE)))}]")


def clean(text: str) -> str:
    """The text without lone surrogates and without characters that turn the direction of the text after them; control
    characters become pictures of them."""
    return text.translate(_TABLE) if not text.isascii() or not text.isprintable() else text


def clean_json(text: str) -> str:
    """JSON text with such characters as escapes: the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def show(text: object, *, is_json: bool = False, end: str = "\n", file: TextIO | None = None) -> None:
    """Print what may hold text of others."""
    print(clean(clean_json(str(text)) if is_json else str(text)), end=end, file=file)
