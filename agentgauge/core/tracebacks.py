"""Tracebacks of mistakes in a benchmark's own code, as plain data that a record can hold, and as text.

They begin at the author's first frame: the frames of AgentGauge and of libraries that lead there say nothing about the
mistake. Paths are relative, so that a record tells no folder of this machine.
"""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal

from agentgauge.core.announcement import package_of, plugins
from agentgauge.core.errors import AgentGaugeError
from agentgauge.core.files import is_disk_full
from agentgauge.core.redaction import redact

Style = Literal["auto", "long", "short", "line", "native", "no"]
"""The values of pytest's ``--tb``."""

Link = Mapping[str, Any]
"""An exception: ``{"error": "KeyError: 'x'", "relation": how it led to the next one, "frames": [{"path", "line",
"function", "source": lines of the function up to this one, of code that is not the author's this one alone}]}``."""

HEADING = "Traceback, from the benchmark's code on:"

_HOME = f"{Path(__file__).parents[1]}/"
_OURS = ("agentgauge", "agentgauge_reports", "tool_impls")
_FRAMES = 20  # of an exception; of more, as in a recursion, the first and last
_LINES = 15  # of the source of a frame
_WIDTH = 200  # characters of a line
_LINKS = 3  # exceptions of a chain
_ERROR = 2000  # characters of an exception's text

_CAUSED = "The above exception was the direct cause of the following exception:"
_DURING = "During handling of the above exception, another exception occurred:"


def mistake_behind(error: BaseException) -> list[Link]:
    """The traceback of the mistake that an error stands for. A full disk is none; what AgentGauge raises on purpose is
    none, but may be caused by one, such as that of a tool or of an oracle."""
    if is_disk_full(error):
        return []
    if isinstance(error, AgentGaugeError):
        return mistake_behind(error.__cause__) if error.__cause__ else []
    return author_traceback(error)


def with_mistake(error: BaseException, style: Style) -> str:
    """The error's text, and below it the traceback of the mistake that it stands for."""
    return "\n".join(filter(None, (str(error), traceback_text(mistake_behind(error), style))))


def author_traceback(error: BaseException) -> list[Link]:
    """The exceptions of a chain, the first one first, without secrets; empty if no frame is the author's. A file that
    is no Python has no frame; the text of the exception shows its line."""
    links: list[Link] = []
    relation = ""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen and len(links) < _LINKS:
        seen.add(id(following))
        if (frames := _author_frames(following.__traceback__)) or isinstance(following, SyntaxError):
            links.insert(0, {"error": _text_of(following), "relation": relation, "frames": frames})
        relation = _CAUSED if following.__cause__ else _DURING
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return links


def sentence_of(error: BaseException) -> str:
    """``KeyError at task.py:12: 'x'``."""
    return f"{type(error).__name__} at {place_of(error)}: {error}"


def place_of(error: BaseException) -> str:
    """``FILE:LINE`` of the author's last frame, else of the frame that raised the exception."""
    frames = [*_walk(error.__traceback__)]
    if not frames:
        return "an unknown place"
    frame, line = next((one for one in reversed(frames) if _is_authors(one[0])), frames[-1])
    return f"{Path(frame.f_code.co_filename).name}:{line}"


def traceback_text(links: Sequence[Link], style: Style) -> str:
    """The text of a traceback; empty without one, and with ``no``."""
    if not links or style == "no":
        return ""
    if style == "line":
        places = "".join(f"{frame['path']}:{frame['line']}: " for frame in links[-1]["frames"][-1:])
        return f"{places}{links[-1]['error'].splitlines()[0 if places else -1]}"
    write = {"long": _long, "native": _native}.get(style, _short)
    lines = [HEADING]
    for number, link in enumerate(links):
        lines += write(link)
        if number + 1 < len(links):
            lines += ["", link["relation"], ""]
    return "\n".join(lines)


def _short(link: Link) -> Iterator[str]:
    for frame in link["frames"]:
        yield f"{frame['path']}:{frame['line']}: in {frame['function']}"
        yield f"    {_last_line(frame)}"
    yield from (f"E   {line}" for line in link["error"].splitlines())


def _long(link: Link) -> Iterator[str]:
    if not link["frames"]:
        yield from _short(link)
    for frame in link["frames"]:
        yield ""
        *before, _ = frame["source"] or [""]
        yield from (f"    {line}".rstrip() for line in before)
        yield f">   {(frame['source'] or ['???'])[-1]}"
        if frame is link["frames"][-1]:
            yield from (f"E   {line}" for line in link["error"].splitlines())
        yield ""
        yield f"{frame['path']}:{frame['line']}: in {frame['function']}"


def _native(link: Link) -> Iterator[str]:
    yield "Traceback (most recent call last):"
    for frame in link["frames"]:
        yield f'  File "{frame["path"]}", line {frame["line"]}, in {frame["function"]}'
        yield f"    {_last_line(frame)}"
    yield from link["error"].splitlines()


def _last_line(frame: Mapping[str, Any]) -> str:
    return frame["source"][-1].strip() if frame["source"] else "???"


# -- frames


def _walk(found: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    return traceback.walk_tb(found)


def _author_frames(found: TracebackType | None) -> list[dict[str, Any]]:
    """From the author's first frame on, without those of AgentGauge between two of the author's."""
    frames = [*_walk(found)]
    authors = [place for place, (frame, _) in enumerate(frames) if _is_authors(frame)]
    if not authors:
        return []
    kept = [
        one for place, one in enumerate(frames) if place >= authors[0] and (place > authors[-1] or not _is_ours(one[0]))
    ]
    if len(kept) > _FRAMES:
        kept = [*kept[: _FRAMES // 2], *kept[-_FRAMES // 2 :]]
    return [_frame(frame, line) for frame, line in kept]


def _frame(frame: FrameType, line: int) -> dict[str, Any]:
    code = frame.f_code
    whole = code.co_name != "<module>" and _is_authors(frame)
    first = max(code.co_firstlineno, line - _LINES + 1) if whole else line
    source = linecache.getlines(code.co_filename, frame.f_globals)[first - 1 : line]
    return {
        "path": redact(_path(frame)),
        "line": line,
        "function": code.co_name,
        "source": [redact(one.rstrip()[:_WIDTH]) for one in source],
    }


def _path(frame: FrameType) -> str:
    """Relative to the current folder if the file is the author's and below it, else as deep as its module's name."""
    file = Path(frame.f_code.co_filename)
    if _is_authors(frame) and file.is_relative_to(Path.cwd()):
        return str(file.relative_to(Path.cwd()))
    depth = str(frame.f_globals.get("__name__", "")).count(".") + (2 if file.name == "__init__.py" else 1)
    return "/".join(file.parts[-depth:])


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_ours(frame: FrameType) -> bool:
    """Whether the code is AgentGauge's; a service's module is called ``__main__``."""
    return _package(frame) in _OURS or frame.f_code.co_filename.startswith(_HOME)


def _is_authors(frame: FrameType) -> bool:
    """Whether the code is a benchmark's: of a package with a plugin, or of a file that is in no library."""
    package, file = _package(frame), frame.f_code.co_filename
    if _is_ours(frame) or file.startswith("<"):
        return False
    return package in _packages_of_plugins() or not file.startswith(_libraries())


@cache
def _packages_of_plugins() -> frozenset[str]:
    """Tasks of other files are in no library."""
    return frozenset(map(package_of, plugins())).difference(_OURS)


@cache
def _libraries() -> tuple[str, ...]:
    """Folders of Python and of installed packages."""
    paths = sysconfig.get_paths()
    return tuple(f"{Path(paths[name])}/" for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def _text_of(error: BaseException) -> str:
    text = "".join(traceback.format_exception_only(error)).rstrip()
    if isinstance(error, SyntaxError) and error.filename:
        text = text.replace(error.filename, Path(error.filename).name)
    return redact(text if len(text) <= _ERROR else text[:_ERROR] + "…")
