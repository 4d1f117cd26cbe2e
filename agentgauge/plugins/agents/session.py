"""One call of an agent program: the requests that it may send while it runs, and those that it has sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.agent.dialect import INVALID_ACTION, CallError, read_call
from agentgauge.core.agents import AgentTask, ToolUse
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import ToolError
from agentgauge.core.text import counted
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import Json, Usage
from agentgauge.run.chat_form import ProgramRequest, Refused
from agentgauge.run.endpoint_proxy import ProgramSession, ask_model

AT_ONCE = 16
"""Concurrent requests of one agent; others wait."""

MOST_RECEIVED = 1 << 30
"""Bytes of all requests of one call of the agent."""

MOST_CALLS = 1000
"""Tool calls in one call of the agent; further ones are refused and not recorded."""
_ENOUGH = f"the agent has used its {MOST_CALLS} tool calls or its {MOST_RECEIVED >> 20} MiB of requests; answer now"


@dataclass(slots=True, eq=False)
class Session:
    """The requests of one call of an agent. They go through the case, so that its transcript, usage and cassette hold
    them."""

    case: Case
    task: AgentTask
    most_requests: int
    first_event: int = field(init=False)  # where the case's events of this call begin
    requests: int = 0  # to the model
    usage: Usage = field(default_factory=Usage)
    uses: list[ToolUse] = field(default_factory=list)
    fault: Exception | None = None  # the first that is not the agent's; the agent got it as an error
    received: int = 0  # bytes
    calls: int = 0  # of tools
    program: asyncio.Task[Any] | None = None  # that runs
    _one_by_one: asyncio.Lock = field(default_factory=asyncio.Lock)  # calls of tools, as in every case

    def __post_init__(self) -> None:
        self.first_event = len(self.case.events)

    @property
    def model(self) -> str:
        return self.case.name_of("")

    def reached(self) -> ProgramSession:
        """What the agent's program reaches."""
        return ProgramSession(
            self.model,
            self.ask,
            AT_ONCE,
            forwarded="known",
            tools=self.tools,
            use=self.use,
            receive=self.receive,
        )

    def receive(self, content: bytes) -> None:
        """Count a request's body. Raises Refused if the requests together are too large."""
        self.received += len(content)
        if self.received > MOST_RECEIVED:
            raise Refused(f"all requests of a call may have {MOST_RECEIVED >> 20} MiB", 413)

    async def ask(self, request: ProgramRequest) -> ChatReply:
        """Raises Refused beyond the limit, and Fault where the model cannot be reached."""
        if self.requests >= self.most_requests:
            raise Refused(
                f"the agent has used its {counted(self.most_requests, 'request')} to the model", 429, "limit_reached"
            )
        self.requests += 1
        try:
            reply = await ask_model(self.case, request)
        except Exception as fault:
            self.fault = self.fault or fault
            if self.case.is_unfinished and self.program:  # it would ask again, or go on without
                await self.case.settled()
                self.program.cancel()
            raise
        self.usage += reply.usage
        return reply

    async def use(self, name: str, arguments: str) -> ToolUse:
        """Run a real tool on JSON text. Errors that are the agent's are in the result. Raises Refused beyond the limit,
        and Fault."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise Refused(_ENOUGH, 429, "limit_reached")
        async with self._one_by_one:
            use = await self._used(name, arguments)
            self.uses.append(use)
        return use

    async def _used(self, name: str, arguments: str) -> ToolUse:
        tool = self.task.tools.get(name)
        if tool is None:
            known = ", ".join(self.task.tools) or "none"
            message = f"there is no tool {name[:80]!r} here; there are: {known}"
            return ToolUse(INVALID_ACTION, {"text": arguments}, None, "API_ERROR", message)
        action = read_call(tool, arguments)
        if isinstance(action, CallError):
            return ToolUse(name, action.arguments, None, action.type, action.message)
        return await self._run(name, action.arguments, action.converted)

    async def _run(self, name: str, arguments: Json, converted: Mapping[str, Any]) -> ToolUse:
        try:
            return ToolUse(name, arguments, await self.case.use(name, converted))
        except ToolError as error:
            return ToolUse(name, arguments, None, "API_ERROR", str(error))
        except Exception as fault:
            self.fault = self.fault or fault
            raise

    @property
    def tools(self) -> Sequence[Tool]:
        return tuple(self.task.tools.values())

    @property
    def files(self) -> Mapping[str, Path]:
        return {str(path): path for path in self.task.files}

    async def call(self, name: str, arguments: Mapping[str, Any], /) -> Sequence[ToolOutput]:
        """Run a real tool whose arguments the gateway has checked. Raises ToolError, also beyond the limit, and
        Fault."""
        if not self._has_room(arguments):
            raise ToolError(_ENOUGH)
        async with self._one_by_one:
            use = await self._run(name, arguments, arguments)
            self.uses.append(use)
        if use.outputs is None:
            raise ToolError(use.message)
        return use.outputs

    def refused(self, name: str, arguments: Mapping[str, Any], reason: str, /) -> None:
        if not self._has_room(arguments):
            return
        if name in self.task.tools:
            self.uses.append(ToolUse(name, arguments, None, "ARGS_ERROR", reason))
        else:
            self.uses.append(ToolUse(INVALID_ACTION, arguments, None, "API_ERROR", reason))

    def _has_room(self, arguments: Mapping[str, Any]) -> bool:
        """Count a call of a tool that came by the gateway. Whether it is within the limits."""
        self.calls += 1
        self.received += len(json.dumps(arguments))
        return self.calls <= MOST_CALLS and self.received <= MOST_RECEIVED
