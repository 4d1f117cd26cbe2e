"""Text files that people write: their editors may begin them with a byte order mark, and some write UTF-16."""

from __future__ import annotations

import codecs
from pathlib import Path

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_text(path: Path) -> str:
    """The text without its byte order mark, with ``\\n`` at the end of each line. Raises OSError and
    UnicodeDecodeError."""
    content = path.read_bytes()  # once, because a pipe cannot be read again
    text = content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")
