"""A session: the tools, the files and the log of one sample, for one agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from agentgauge.agent.dialect import convert
from agentgauge.agent.native import function_schema
from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.tools import SchemaTool, Tool, ToolOutput
from tool_impls.mcp.files import SampleFiles

Run = Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, Sequence[ToolOutput]]]
Refused = Callable[[str, Mapping[str, Any], str], None]


def _keep_no_log(name: str, arguments: Mapping[str, Any], reason: str) -> None:
    """The log of refused calls of a session that keeps none."""


@dataclass(frozen=True, slots=True)
class Session:
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

    session: Session
    files: SampleFiles = field(init=False)
    tools: Mapping[str, Tool] = field(init=False)
    _running: set[asyncio.Task[Sequence[ToolOutput]]] = field(default_factory=set)
    _calls: int = 0
    _closed: bool = False

    def __post_init__(self) -> None:
        self.files = SampleFiles(self.session.files)
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
