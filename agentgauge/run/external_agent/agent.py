"""Runs the agent program on one task: a folder, a token, a process, an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgauge.core.capabilities import AgentAnswer, AgentTask
from agentgauge.core.case import Case
from agentgauge.core.errors import Fault
from agentgauge.core.redaction import redact
from agentgauge.run.external_agent.answer import ANSWER, read_answer
from agentgauge.run.external_agent.endpoint import AgentEndpoint
from agentgauge.run.external_agent.process import run_agent
from agentgauge.run.external_agent.session import Session
from agentgauge.run.external_agent.settings import AgentProgram
from agentgauge.sandbox import SandboxResult
from agentgauge.sandbox.scratch import remove_tree

FORMAT = 1
TASK = "task.json"
_SAID = 2000  # characters of what a failed program printed last


class ProgramAgent:
    """The tested agent of one worker. Belongs to one event loop; its endpoint starts with the first case."""

    def __init__(self, program: AgentProgram, logs: Path, at_once: int) -> None:
        """``logs``: the folder for what the programs print; made when one prints. ``at_once``: programs that run at one
        time."""
        self._program = program
        self._logs = logs
        self._endpoint = AgentEndpoint()
        self._starting = asyncio.Lock()
        self._port = 0
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="agentgauge-agents")

    async def __call__(self, case: Case, task: AgentTask) -> AgentAnswer:
        """Raises the fault of the model or of a tool that left the agent without an answer, and Fault for a program
        that ended by itself without one."""
        await self._start()
        session = Session(case, task, self._program.requests)
        token = self._endpoint.open(session)
        folder = case.folder.with_name(f"{case.folder.name}.agent")
        try:
            remove_tree(folder)
            folder.mkdir(parents=True, mode=0o700)
            case.folder.mkdir(parents=True, exist_ok=True)
            result = await self._run(case, task, folder, token, session.model)
            await self._endpoint.end(token)
            reply, odd = read_answer(folder, result)
        finally:
            await self._endpoint.end(token)
            remove_tree(folder)
            if not any(case.folder.iterdir()):
                case.folder.rmdir()
        self._log(case, result)
        if not (reply.text or reply.tool_calls):
            if session.fault is not None:
                raise session.fault
            if odd or result.status == "error":
                raise Fault(_why(result, odd), cause="agent failed")
        return AgentAnswer(replace(reply, usage=session.usage), tuple(session.uses))

    async def close(self) -> None:
        await self._endpoint.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _start(self) -> None:
        async with self._starting:
            if not self._port:
                self._port = await self._endpoint.start()

    async def _run(self, case: Case, task: AgentTask, folder: Path, token: str, model: str) -> SandboxResult:
        address = f"http://127.0.0.1:{self._port}"
        told = _task_file(case, task, address, model, self._program)
        (folder / TASK).write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
        env = {
            "AGENTGAUGE_TASK": str(folder / TASK),
            "AGENTGAUGE_ANSWER": str(folder / ANSWER),
            "AGENTGAUGE_MODEL_URL": f"{address}/v1",
            "AGENTGAUGE_MODEL_KEY": token,
            "AGENTGAUGE_MODEL": model,
            "AGENTGAUGE_TOOLS_URL": f"{address}/tools",
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": token,
        }
        process = self._program.process.with_more(env, (*task.files, case.folder))
        return await run_agent(self._program.command.words, folder, process, ports=[self._port], executor=self._threads)

    def _log(self, case: Case, result: SandboxResult) -> None:
        """Keep what the program printed beside the run's other logs; each call of a case adds to it."""
        said = f"{result.status} {result.reason}\n{result.stdout}\n{result.stderr}"
        if result.stdout or result.stderr or result.reason:
            file = self._logs / case.sample.task / f"{case.folder.name}.log"
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8", errors="replace") as log:
                log.write(redact(said))


def _task_file(case: Case, task: AgentTask, address: str, model: str, program: AgentProgram) -> Mapping[str, Any]:
    return {
        "format": FORMAT,
        "task": case.sample.task,
        "messages": [dict(message) for message in task.messages],
        "files": [str(path) for path in task.files],
        "functions": [dict(function) for function in task.functions],
        "tools": list(task.tools),
        "model": {"name": model, "url": f"{address}/v1"},
        "tool_server": {"url": f"{address}/tools"},
        "limits": {"seconds": program.process.seconds, "requests": program.requests},
    }


def _why(result: SandboxResult, odd: str) -> str:
    last = redact(" ".join(result.stderr.split())[-_SAID:])
    return f"the agent gave no answer: {odd or result.reason}" + (f": {last}" if last else "")
