"""The benchmark's tools for agents of ``pack run``: a session of the MCP gateway for each task, and its log."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.config import load_config
from agentgauge.core.errors import AgentGaugeError, ToolFault
from agentgauge.core.files import remove_tree
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.processes import make_tool_token
from agentgauge.core.tools import Tool, ToolBox, ToolOutput, not_ready
from agentgauge.core.types import Json
from agentgauge.run.services import Service
from bench_gta.pack.format import SetTask, TaskSet
from bench_gta.pack.task_folder import plain_files
from bench_gta.workflow.data import read_tools
from bench_gta.workflow.run import offered
from bench_gta.workflow.task import TOOLS
from tool_impls.mcp import SessionAccess, require_package

if TYPE_CHECKING:
    from tool_impls.mcp.gateway import Gateway

MOST_LOGGED = 1_000  # characters of an argument or output in the log
MOST_LOG = 512 << 10  # bytes of the log of one task; a record may have twice as many
LEFT_OUT = "[left out]"
MOST_CALLS = 1_000  # of one task
MOST_NOTES = 20
UNFINISHED = "the agent did not wait for the end"
RESULTS = "results"  # how the log names the folder of files that tools make

Outputs = Sequence[ToolOutput]


@dataclass(slots=True)
class TaskTools:
    """The session of one task. Its log is complete when the session is closed."""

    port: int
    made: Path  # folder of the files that the tools make
    placeholders: Mapping[str, str]  # of paths in the log
    access: SessionAccess = field(init=False)
    notes: list[str] = field(default_factory=list)
    _calls: list[Json] = field(default_factory=list)
    _bytes: int = 0
    _left_out: int = 0

    def refused(self, name: str, arguments: Mapping[str, Any], reason: str) -> None:
        self._add({"name": name, "arguments": dict(arguments), "accepted": False, "error": reason})

    async def run(self, name: str, arguments: Mapping[str, Any], box: ToolBox, readable: Sequence[Path]) -> Outputs:
        """Call a tool. The call is in the log from its start, so that one that is never finished is there, too."""
        began = time.monotonic()
        entry = self._add({"name": name, "arguments": dict(arguments), "accepted": True, "error": UNFINISHED})
        try:
            outputs = await box.call(name, arguments, folder=self.made, readable=readable)
        except AgentGaugeError as error:
            entry["error"] = self._fitting(str(error))
            if isinstance(error, ToolFault):
                self.notes.append(f"{name} failed, which is not the agent's fault: {error}")
            raise
        else:
            entry.pop("error", None)  # none where the call is left out
            entry["outputs"] = self._fitting([{"type": output.type, "content": output.content} for output in outputs])
        finally:
            entry["seconds"] = round(time.monotonic() - began, 3)
        return outputs

    def _add(self, entry: dict[str, Json]) -> dict[str, Json]:
        shown = self._fitting(entry)
        if not isinstance(shown, dict):
            self._left_out += 1
            return {}
        self._calls.append(shown)
        return shown

    def _fitting(self, value: Json) -> Any:
        """The value as the log has it; where the log is full, the words for that."""
        shown = _cut(with_placeholders(value, self.placeholders))
        size = len(json.dumps(shown))
        if self._bytes + size > MOST_LOG:
            return LEFT_OUT
        self._bytes += size
        return shown

    def record(self, expected: Sequence[str]) -> dict[str, Json]:
        """The log; ``expected``: the tools that the task names."""
        return {"expected": list(expected), "calls": list(self._calls), "left_out": self._left_out}

    def deliver(self, files: Path) -> list[str]:
        """Move what the tools made to the deliverables, into a new folder there, without what the agent has copied
        itself. Returns notes on the calls. Raises OSError."""
        have = set(_digests(files).values())
        place = next(path for path in map(files.joinpath, _names()) if not os.path.lexists(path))
        for name, digest in _digests(self.made).items():
            if digest not in have:
                (place / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self.made / name).rename(place / name)
        remove_tree(self.made)
        return self.notes[:MOST_NOTES]


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The gateway, and the tools behind it. ``states``: of the tools that do not run in their official form."""

    gateway: Gateway
    box: ToolBox
    tools: Sequence[Tool]
    states: Mapping[str, str]

    @contextmanager
    def of_task(
        self, tasks: TaskSet, task: SetTask, files: Mapping[str, Path], work: Path, made: Path
    ) -> Iterator[TaskTools]:
        """Open a session while the agent works. ``files``: the task's files by their names in the agent's folder
        ``work``. ``made``: a new folder for what the tools make."""
        from tool_impls.mcp.session import ToolSession

        made.mkdir(mode=0o700)
        made = made.resolve()
        in_set = {(tasks.root / name).resolve(): name for name in task.files}
        placeholders = {str(path): name for name, path in files.items()} | {str(made): RESULTS}

        async def call(name: str, arguments: Mapping[str, Any]) -> Outputs:
            return await log.run(name, arguments, self.box, tuple(files.values()))

        # the request names a file as the data set does, and an app may name it by its whole path
        further = {other: path for name, path in files.items() for other in (in_set[path], str(work / name))}
        log = TaskTools(self.gateway.port, made, placeholders)
        token = self.gateway.open(ToolSession(self.tools, call, {**files, **further}, log.refused, MOST_CALLS))
        log.access = SessionAccess(self.gateway.url, token)
        try:
            yield log
        finally:
            self.gateway.close_session(token)


@asynccontextmanager
async def agent_tools(tasks: TaskSet, server: str | None, log: Path) -> AsyncIterator[AgentTools]:
    """The task set's tools, served by ``server`` or by a tool server of our own, whose output goes to ``log``. The
    settings of the tools are those of agentgauge.toml in the working directory.

    Raises UsageProblem without the package of the protocol and if the server does not start, ToolUnavailable for tools
    that the settings want and that cannot work.
    """
    require_package("--mcp")
    from tool_impls.mcp.gateway import Gateway

    config = load_config(root=Path.cwd())
    known = read_tools(tasks.root)
    check = partial(TOOLS.check_tools, scoring="parity", allow_unsafe=False, server=server)
    found = await asyncio.to_thread(check, list(known), config)
    service, drop_token = None, make_tool_token() if server is None else None
    gateway = box = None
    try:
        if server is None:
            command = TOOLS.tool_server(config, scoring="parity", allow_unsafe=False)
            service = Service("tool server", command, log)
            server = await asyncio.to_thread(service.start)
        box = TOOLS.toolbox(server)
        tools = tuple(offered(known, await box.catalog()).values())
        gateway = await Gateway.start()
        yield AgentTools(gateway, box, tools, not_ready(found))
    finally:
        if gateway:
            await gateway.close()
        if box:
            await box.close()
        if service:
            await asyncio.to_thread(service.stop)
        if drop_token:
            drop_token()


def _digests(folder: Path) -> dict[str, str]:
    found = {}
    for name in plain_files(folder).files:
        with (folder / name).open("rb") as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _names() -> Iterator[str]:
    yield "tools"
    yield from (f"tools-{number}" for number in itertools.count(2))


def _cut(value: Json) -> Json:
    if isinstance(value, str):
        left_out = len(value) - MOST_LOGGED
        return value if left_out <= 0 else f"{value[:MOST_LOGGED]} [{left_out} characters left out]"
    if isinstance(value, list):
        return [_cut(each) for each in value]
    return {key: _cut(each) for key, each in value.items()} if isinstance(value, dict) else value
