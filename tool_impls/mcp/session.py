"""A session: the tools, the files and the log of one sample, for one agent, and how a program gets access to it."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from jsonschema import Draft202012Validator

from agentgauge.agent.dialect import convert
from agentgauge.agent.native import function_schema
from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.tools import FILE_TYPES, PICTURE, Parameter, SchemaTool, Tool, ToolOutput

# -- files: those of the sample, and those that tools make. A client names a file by its name or its URI; only names
# of this table lead to a file, so ``..``, absolute paths and links have no effect


SCHEME = "sample:///"
RESULTS = "results"
"""Folder in the names of files that tools make."""
MOST_FILES = 5_000  # of a folder
_SHOWN = 10  # names in the message about an unknown one


class SessionFiles:
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


# -- the session


Run = Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, Sequence[ToolOutput]]]
Refused = Callable[[str, Mapping[str, Any], str], None]


def _keep_no_log(name: str, arguments: Mapping[str, Any], reason: str) -> None:
    """The log of refused calls of a session that keeps none."""


@dataclass(frozen=True, slots=True)
class ToolSession:
    """The tools and files that one agent is offered. ``call`` runs a tool; it gets the arguments in the types of the
    tool's inputs, files as absolute paths, and raises ToolError or ToolFault. ``files``: the sample's files by the
    names that the agent reads in its task. ``refused`` is notified of a call that does not reach ``call``: the name,
    the arguments as they came, and the reason. ``most_calls``: further ones are refused.
    """

    tools: Sequence[Tool]
    call: Run
    files: Mapping[str, Path] = field(default_factory=dict)
    refused: Refused = _keep_no_log
    most_calls: int | None = None


@dataclass(slots=True)
class OpenSession:
    """A session with the files that its tools have made so far."""

    session: ToolSession
    files: SessionFiles = field(init=False)
    tools: Mapping[str, Tool] = field(init=False)
    _running: set[asyncio.Task[Sequence[ToolOutput]]] = field(default_factory=set)
    _calls: int = 0
    _closed: bool = False

    def __post_init__(self) -> None:
        self.files = SessionFiles(self.session.files)
        self.tools = {tool.name: tool for tool in self.session.tools}

    async def run(self, tool: Tool, arguments: Mapping[str, Any]) -> Sequence[ToolOutput]:
        """Raises ToolError for arguments that do not fit and for errors of the tool, ToolFault for other errors and for
        a closed session. Paths in their texts are names of files again."""
        if self._closed:  # since the request was admitted, whose body came later
            raise ToolFault(f"the session was closed before {tool.name} ran", cause="closed")
        try:
            self._count()
            ready = self._ready(tool, arguments)
        except ToolError as error:
            self.session.refused(tool.name, arguments, str(error))
            raise
        work = asyncio.create_task(self.session.call(tool.name, ready))
        self._running.add(work)
        try:
            await asyncio.wait([work])
        finally:
            work.cancel()  # where the client has gone
            self._running.discard(work)
        if work.cancelled():
            raise ToolFault(f"the session was closed while {tool.name} ran", cause="closed")
        return work.result()

    def close(self) -> None:
        """Cancel the calls that run, and refuse others."""
        self._closed = True
        for work in self._running:
            work.cancel()

    def _count(self) -> None:
        most = self.session.most_calls
        if most is not None and self._calls >= most:
            raise ToolError(f"this task has used its {most} tool calls")
        self._calls += 1

    def _ready(self, tool: Tool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if not isinstance(tool, SchemaTool):  # null counts as left out
            arguments = {name: value for name, value in arguments.items() if value is not None}
        errors = Draft202012Validator(input_schema(tool)).iter_errors(arguments)
        if error := next(errors, None):
            where = f"{error.json_path.removeprefix('$.')}: " if error.path else ""
            raise ToolError(f"the arguments of {tool.name} do not fit: {where}{error.message[:500]}")
        if isinstance(tool, SchemaTool):
            try:
                tool.check(arguments)
            except ValueError as error:
                raise ToolError(f"the arguments of {tool.name} do not fit: {error}") from None
            return arguments
        inputs = {parameter.name: parameter for parameter in tool.inputs}
        located = {
            name: self.files.located(inputs[name], value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        try:
            return convert(tool, located)
        except (TypeError, ValueError, OverflowError, OSError) as error:
            raise ToolError(f"the arguments of {tool.name} do not fit: {self.files.named(str(error))}") from None


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, as models get it; further names are refused. ``nullable`` is not part of
    JSON schema; it shows some clients that an input can be left out."""
    schema: dict[str, Any] = function_schema(tool)["function"]["parameters"]
    if isinstance(tool, SchemaTool):
        return schema
    optional = {parameter.name: {"nullable": True} for parameter in tool.inputs if parameter.optional}
    properties = {name: {**given, **optional.get(name, {})} for name, given in schema["properties"].items()}
    return {**schema, "properties": properties, "additionalProperties": False}
