"""The files of a session: those of its sample, and those that its tools make.

A client names a file by its name or by its URI. Only names of this table lead to a file, so no name reaches another
path: ``..``, absolute paths and links have no effect.
"""

from __future__ import annotations

import mimetypes
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from agentgauge.core.checkpoint import with_placeholders
from agentgauge.core.errors import ToolError
from agentgauge.core.tools import FILE_TYPES, Parameter
from tool_impls.naming import PICTURE

SCHEME = "sample:///"
RESULTS = "results"
"""Folder in the names of files that tools make."""
MOST_FILES = 5_000  # of a folder
_SHOWN = 10  # names in the message about an unknown one


class SampleFiles:
    """Names of files and where the files are."""

    def __init__(self, given: Mapping[str, Path]) -> None:
        """``given``: files by name, the way the agent reads the name in its task. Of several names of a file the first
        one is shown."""
        self._paths = {name: path.absolute() for name, path in given.items()}
        self._names: dict[str, str] = {}
        for name, path in self._paths.items():
            self._names.setdefault(str(path), name)

    def __iter__(self) -> Iterator[tuple[str, Path]]:
        return iter([(name, Path(path)) for path, name in self._names.items()])

    def add(self, path: Path) -> str:
        """The name of a file that a tool made: that of its folder and its own, in the folder ``results``."""
        known = self._names.get(str(path))
        if known is not None:
            return known
        name = f"{RESULTS}/{path.parent.name}/{path.name}"
        self._paths[name] = path
        self._names[str(path)] = name
        return name

    def path(self, name: str) -> Path:
        """The file behind a name or URI. Raises ToolError with the known names."""
        plain = unquote(name.removeprefix(SCHEME)) if name.startswith(SCHEME) else name.removeprefix("./")
        if plain not in self._paths:
            names = list(self._names.values())
            shown = ", ".join(names[:_SHOWN]) or "none"
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            raise ToolError(f"there is no file {name[:200]!r} in this task; its files are {shown}{more}")
        return self._paths[plain]

    def located(self, parameter: Parameter, value: str) -> str:
        """The value of an input with the paths of the files that it names. Raises ToolError for an unknown file; a
        picture that a Markdown text names may be unknown, since the tool reports it."""
        if parameter.type in FILE_TYPES or parameter.attach == "file":
            return str(self.path(value))
        if parameter.attach == "files":
            return ",".join(str(self.path(part.strip())) for part in value.split(",") if part.strip())
        if parameter.attach == "markdown":
            return PICTURE.sub(self._picture, value)
        return value

    def named(self, text: str) -> str:
        """The text with names in the place of paths."""
        return str(with_placeholders(text, self._names))

    def _picture(self, found: re.Match[str]) -> str:
        try:
            return found[0].replace(found[1], str(self.path(found[1])))
        except ToolError:
            return found[0]


def uri_of(name: str) -> str:
    return SCHEME + quote(name)


def mime_type(path: Path) -> str:
    return mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def files_below(folder: Path) -> dict[str, Path]:
    """The plain files below a folder by their relative paths, in their order, without links and hidden ones, up to a
    bound."""
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            if len(found) == MOST_FILES:
                return found
            found[path.relative_to(folder).as_posix()] = path
    return found
