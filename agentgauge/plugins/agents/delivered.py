"""The outputs of an agent as its answers: no program is started, and no model is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgauge.core.agents import AgentAnswer, AgentTask
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatModel, ChatReply, ChatRequest
from agentgauge.core.errors import Fault
from agentgauge.core.task import Task
from agentgauge.core.text import shown
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.core.types import Event, Json
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.agents.deliveries import FOLDER, take_files
from agentgauge.plugins.agents.logs import AgentLogs
from agentgauge.plugins.agents.outputs import Output, Outputs
from agentgauge.plugins.agents.trajectory import own_events
from agentgauge.run.part import Part

_CAUSE = "agent failed"


class OutputsPart(Part):
    """Lets the outputs answer the cases of a process."""

    def __init__(self, outputs: Outputs, logs: AgentLogs) -> None:
        self._outputs, self._logs = outputs, logs

    def model(self, name: str, spec: ModelSpec | None, role: str) -> ChatModel | None:
        return None if role else NoModel(self._outputs.name)

    def tools(self) -> ToolBox:
        return NoTools()

    def solver(self, task: Task) -> Callable[[Case], Awaitable[Json]]:
        solve = task.agents
        assert solve, "the run was refused for the others"
        return lambda case: solve(case, DeliveredAgent(self._outputs, self._logs))


class DeliveredAgent:
    """The agent of one case."""

    def __init__(self, outputs: Outputs, logs: AgentLogs) -> None:
        self._outputs, self._logs = outputs, logs
        self._turn = 0

    async def __call__(self, case: Case, task: AgentTask) -> AgentAnswer:
        """Raises Fault for a case without outputs, and for outputs that cannot be used."""
        self._turn += 1
        where = case.sample.task, case.sample.id
        found = await asyncio.to_thread(self._outputs.find, *where, self._turn)
        if found is None and self._turn > 1:
            self._logs.add(case, f"the agent has delivered nothing for turn {self._turn} of the user\n")
            return AgentAnswer(ChatReply(), was_asked=False)
        if found is None:
            raise Fault(f"the agent has delivered nothing: there is no {self._outputs.places(*where)}", cause=_CAUSE)
        if problem := found.problem or _other_request(found, task):
            raise Fault(f"the agent's outputs cannot be used: {problem}", cause=_CAUSE)
        await asyncio.to_thread(take_files, found.files, case.folder / FOLDER)
        events, note = own_events(found.trajectory, self._outputs.name)
        case.events += events or [_answered(found, task, self._outputs.name)]
        case.usage += found.figures.usage
        if notes := "; ".join(filter(None, (found.note, note))):
            self._logs.add(case, f"{notes}\n")
        return AgentAnswer(replace(found.reply, usage=found.figures.usage))


class NoModel:
    """In the tested model's place."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.fingerprint = ""
        self.reported: str | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        raise Fault(
            "with --agent-outputs there is no tested model, which this request is for; name a model for its role, such"
            " as a judge",
            cause=_CAUSE,
        )

    async def close(self) -> None: ...


class NoTools:
    """In the tools' place: the agent had its own."""

    async def catalog(self) -> Mapping[str, Tool]:
        return {}

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        raise Fault(f"with --agent-outputs there are no tools, but {name} is called", cause=_CAUSE)

    async def close(self) -> None: ...


def _other_request(found: Output, task: AgentTask) -> str:
    """What is wrong where the agent got another request than that of the sample."""
    asked = task.messages[-1]["content"]
    if found.request in (None, asked):
        return ""
    return f"it was asked {shown(found.request)}, but the sample's request is {shown(asked)}"


def _answered(found: Output, task: AgentTask, name: str) -> Event:
    """The one exchange that is known of."""
    seconds = found.figures.seconds
    detail: dict[str, Any] = {"known": 0, "messages": list(task.messages), "reply": found.reply.text}
    if found.reply.tool_calls:
        detail["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in found.reply.tool_calls]
    return Event("model", name, time.time() - seconds, seconds, detail)
