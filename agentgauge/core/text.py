"""Text, JSON and TOML of people, models and servers: read, checked, and shown safely."""

from __future__ import annotations

import codecs
import errno
import hashlib
import json
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from agentgauge.core.types import Json

# -- Texts of models, of agents and of files that came from anywhere, made safe for a terminal.


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


# -- Text files that people write: their editors may begin them with a byte order mark, and some write UTF-16.


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def odd_kind(path: Path) -> str:
    """What a path that a user gave is besides a file or folder, in words; empty for these and where there is nothing.
    Raises OSError for what cannot be a path."""
    try:
        return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except ValueError:
        raise OSError(errno.EINVAL, "it has a NUL", str(path)) from None


def read_text(path: Path) -> str:
    """The text without its byte order mark, with ``\\n`` at the end of each line. Raises OSError and
    UnicodeDecodeError."""
    return _decoded(path).replace("\r\n", "\n").replace("\r", "\n")


def json_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a JSON Lines file that are not blank, with their numbers from 1. They end at ``\\n`` alone: values
    may hold U+2028, U+0085 and other signs at which ``str.splitlines`` ends a line. Raises OSError and
    UnicodeDecodeError."""
    return [(number, line) for number, line in enumerate(_decoded(path).split("\n"), 1) if line.strip(" \t\r")]


def _decoded(path: Path) -> str:
    content = path.read_bytes()  # once, because a pipe cannot be read again
    return content.decode("utf-16" if content.startswith(UTF_16) else "utf-8-sig")


# -- JSON and TOML that others wrote: everything that is wrong with a text is a ValueError with a sentence.


DEEPEST = 100
"""Levels of lists and tables of what people write by hand. Deeper ones can be read, but not walked through."""

_LARGEST = 10**300
"""No number of a file is larger: many uses of one make it a float."""

_SIGN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)

_TOO_DEEP = "it is nested too deep"


def parse_json(text: str | bytes) -> Json:
    """As ``json.loads``. Raises ValueError, also for what Python does not read: levels above a thousand or so, and
    numbers of more than 4,300 digits."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise in_words(error) from None


def digest(value: Json, digits: int = 16) -> str:
    """A JSON value's SHA-256 in up to 64 hex digits. The order of names does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:digits]


def in_words(error: ValueError | RecursionError) -> ValueError:
    """An error of reading JSON or TOML, in words that say what the text holds."""
    if isinstance(error, RecursionError):
        return ValueError(_TOO_DEEP)
    if isinstance(error, json.JSONDecodeError | tomllib.TOMLDecodeError | UnicodeDecodeError):
        return error
    return ValueError("it has a number of more than 4300 digits")


def parse_reply(text: str | bytes) -> Json:
    """As ``parse_json``, for what a server sends. What Python cannot read there must not cost the rest: a whole number
    of more than 4,300 digits is infinite, and what is nested too deep is null."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except (ValueError, RecursionError):
        text = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
        return json.loads(_shallow(text), parse_int=_whole)


def _shallow(text: str) -> str:
    """A JSON text with null in the place of everything below DEEPEST levels."""
    kept, depth, start = list[str](), 0, 0
    for sign in _SIGN.finditer(text):
        if sign[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept += text[start : sign.start()], "null"
        elif sign[0] in "]}":
            if depth == DEEPEST + 1:
                start = sign.end()
            depth -= 1
    return "".join([*kept, text[start:]] if depth <= DEEPEST else kept)


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < 4300 else float(digits)


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file of people. Raises OSError and, as ``parse_json``, ValueError; its message shows no value of the
    file."""
    try:
        data = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise in_words(error) from None
    refuse_extremes(data)
    return data


def refuse_extremes(value: Json, *, deepest: int = DEEPEST) -> None:
    """Raises ValueError for what cannot be worked with, though it can be read: more levels than ``deepest``, and whole
    numbers of more than 300 digits."""
    level = [value]
    for _ in range(deepest):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, int) and abs(one) > _LARGEST:
                raise ValueError("it has a number of more than 300 digits")
        if not inner:
            return
        level = inner
    raise ValueError(_TOO_DEEP)


# -- The form of explanations, the same for every benchmark: a sentence, what was expected and what came instead, with
# calls, values and texts cut to a readable length.


_LONGEST = 200  # characters of a text, or of a value that stands alone
_ARGUMENT = 120  # characters of an argument's value in a call, so that the other arguments stay in sight
_CALL = 400


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 case``, ``1,024 cases``. ``plural`` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def compared(sentence: str, expected: str, got: str) -> str:
    """What is wrong, and below it what was expected and what came instead."""
    return f"{sentence}\n  expected: {expected}\n  got:      {got}"


def shown_call(name: str, arguments: Json) -> str:
    """A call as ``name(argument=value, ...)``. ``arguments``: an object, its JSON text, or whatever a model gave
    instead, which is shown as it is."""
    loaded = load_arguments(arguments)
    if isinstance(arguments, str) and isinstance(loaded, str):
        return f"{name}({cut(arguments)}{' (ends here)' if _is_unfinished(arguments) else ''})"
    if not isinstance(loaded, Mapping):
        return f"{name}({shown(loaded)})"
    return cut(f"{name}({', '.join(f'{key}={shown(value, _ARGUMENT)}' for key, value in loaded.items())})", _CALL)


def _is_unfinished(text: str) -> bool:
    """Whether a text is the beginning of a JSON object, as a model's arguments are whose reply was cut."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        ends = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip())
        return ends and text.lstrip().startswith("{")
    except (ValueError, RecursionError):
        pass
    return False


def load_arguments(arguments: Json) -> Json:
    """The arguments of a call, decoded where they are JSON text."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return arguments


_CALL_MARKS = re.compile(
    r"""
    <(?:tool_?call|function[_=]|\|python_tag\|)  # of families that mark calls
    | \[TOOL_CALLS\] | ^functools\[
    | ^Action:[ \t]*\w                           # ReAct
    | \{\s*"(?:name|function|tool)"\s*:\s*"?\w    # a call as JSON
    | ^\s*\[?\w+\(\w+\s*=                        # a call as Python
    """,
    re.VERBOSE | re.MULTILINE,
)


def looks_like_call(text: str | None) -> bool:
    """Whether a text from which no call was read looks like one: cut, faulty, or in another dialect than the run's."""
    return bool(text and _CALL_MARKS.search(text))


def shown_text(text: str | None) -> str:
    """A reply without calls, such as ``the text 'Good morning'``."""
    return f"the text {cut(text.strip())!r}" if text and text.strip() else "an empty text"


def shown(value: Json, most: int = _LONGEST) -> str:
    """A value as JSON."""
    try:
        return cut(json.dumps(value, ensure_ascii=False), most)
    except RecursionError:
        return "a value that is nested too deeply to be shown"


def cut(text: str, most: int = _LONGEST) -> str:
    """The beginning of a text; ``…`` stands for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(text: str) -> str:
    """The lines of a text, joined."""
    return " · ".join(words for line in text.splitlines() if (words := " ".join(line.split())))


def clipped(text: str, most: int) -> str:
    """The first line, in ``most`` characters."""
    line = text[: 4 * most].strip().split("\n", 1)[0]
    return line if len(line) <= most else line[: most - 1] + "…"
