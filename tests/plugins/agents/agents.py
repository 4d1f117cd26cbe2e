"""An agent of code on one task, with a model that says what a test wants."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentgauge.core.agents import AgentAnswer, AgentTask
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.registry import Registry
from agentgauge.core.tools import Parameter, Tool, ToolOutput
from agentgauge.core.types import Sample, Usage
from agentgauge.plugins.agents.agent import ProgramAgent
from agentgauge.plugins.agents.logs import AgentLogs
from agentgauge.plugins.agents.settings import AgentProgram
from agentgauge.run.programs.command import Command
from agentgauge.run.programs.process import ProgramSettings

HEAD = """
import json, os, sys, urllib.request, urllib.error
from pathlib import Path
task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text())
URL, KEY = os.environ["AGENTGAUGE_MODEL_URL"], os.environ["AGENTGAUGE_MODEL_KEY"]
def send(url, body=None, key=KEY):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers={"Authorization": "Bearer " + key})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
def ask(text, **more):
    return send(URL + "/chat/completions", {"messages": [{"role": "user", "content": text}], **more})
"""

NAME = "gta_atomic.e2e"
"""Of the task: one whose tools have a gateway."""

TASKS = Registry(task for task in Registry.installed() if task.name == NAME)

ADD = Tool("Add", "Adds.", (Parameter("int", "a"), Parameter("int", "b")), (Parameter("text"),))


@dataclass
class Model:
    """Answers with the last message, in capitals, or as a test wants."""

    name: str = "m1"
    fingerprint: str = ""
    asked: list[ChatRequest] = field(default_factory=list)
    answers: Callable[[ChatRequest], ChatReply] | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        if self.answers:
            return self.answers(request)
        return ChatReply(str(request.messages[-1]["content"]).upper(), usage=Usage(1, 5, 2))

    async def close(self) -> None: ...


class Box:
    """Adds."""

    async def catalog(self) -> Mapping[str, Tool]:
        return {"Add": ADD}

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        return (ToolOutput("text", str(arguments["a"] + arguments["b"])),)

    async def close(self) -> None: ...


def case(folder: Path, model: Model, sample: str = "0") -> Case:
    return Case(
        Sample(sample, NAME, (), {}, folder), 1, 7, CaseSettings(), model, Box(), folder / f"{sample}-a1"
    )  # fmt: skip


def program(code: str, folder: Path, **settings: Any) -> AgentProgram:
    file = folder / "agent.py"
    file.write_text(HEAD + code)
    requests = settings.pop("requests", 20)
    limits = ProgramSettings(**{"seconds": 20.0, "memory_mb": 1024, "readable": (file,), **settings})
    return AgentProgram(Command((sys.executable, str(file)), (file,)), limits, requests)


TASK = AgentTask([{"role": "user", "content": "hello"}])


def solve(
    code: str, folder: Path, model: Model | None = None, task: AgentTask = TASK, **settings: Any
) -> tuple[AgentAnswer, Case]:
    """Let an agent of this code answer. Raises Fault."""

    return solve_with(program(code, folder, **settings), folder, model, task)


def solve_with(
    tested: AgentProgram, folder: Path, model: Model | None = None, task: AgentTask = TASK
) -> tuple[AgentAnswer, Case]:
    async def run() -> tuple[AgentAnswer, Case]:
        agent = ProgramAgent(tested, TASKS, AgentLogs(folder / "logs"), 2)
        one = case(folder, model or Model())
        try:
            return await agent(one, task), one
        finally:
            await agent.close()

    return asyncio.run(run())
