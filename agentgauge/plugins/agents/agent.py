"""Runs the agent program on one task: a folder, a token, a process, an answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from agentgauge.core.agents import AgentAnswer, AgentTask, ToolGateway
from agentgauge.core.case import Case
from agentgauge.core.errors import Fault
from agentgauge.core.files import remove_tree
from agentgauge.core.redaction import redact
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Json
from agentgauge.plugins.agents.answer import read_answer
from agentgauge.plugins.agents.deliveries import FOLDER, files_below, plain_file, take_files
from agentgauge.plugins.agents.logs import AgentLogs
from agentgauge.plugins.agents.placeholders import filled
from agentgauge.plugins.agents.preset_call import set_up
from agentgauge.plugins.agents.printed import Printed, printed_events, read_printed
from agentgauge.plugins.agents.session import Session
from agentgauge.plugins.agents.settings import AgentProgram
from agentgauge.plugins.agents.task_file import write_task
from agentgauge.plugins.agents.trajectory import FILE as TRAJECTORY
from agentgauge.plugins.agents.trajectory import MOST, merge_events, own_events
from agentgauge.plugins.agents.usage_file import USAGE, read_figures
from agentgauge.run.endpoint_proxy import EndpointProxy
from agentgauge.run.part import Part
from agentgauge.run.programs.process import run_program
from agentgauge.sandbox import SandboxResult
from agentgauge.sandbox.forwarder import allow_connections

_SAID = 2000  # characters of what a failed program printed last
_OF_HIDDEN_FILES = (
    "No such file or directory",
    "Permission denied",
    "cannot open shared object",
    "ModuleNotFoundError",
)


class AgentPart(Part):
    """Lets the agent solve the cases of a process."""

    def __init__(self, agent: ProgramAgent) -> None:
        self._agent = agent

    def solver(self, task: Task) -> Callable[[Case], Awaitable[Json]]:
        solve = task.agents
        assert solve, "the run was refused for the others"
        return lambda case: solve(case, self._agent)

    async def close(self) -> None:
        await self._agent.close()


class ProgramAgent:
    """The tested agent of one worker. Belongs to one event loop; its endpoint starts with the first case."""

    def __init__(self, program: AgentProgram, tasks: Registry, logs: AgentLogs, at_once: int) -> None:
        """``at_once``: concurrent programs."""
        self._program = program
        self._tasks = tasks
        self._logs = logs
        self._endpoint = EndpointProxy()
        self._gateways: dict[str, ToolGateway | None] = {}
        self._starting = asyncio.Lock()
        self._port = 0
        allow_connections(at_once)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="agentgauge-agents")

    async def __call__(self, case: Case, task: AgentTask) -> AgentAnswer:
        """Raises the fault of the model or tool that kept the agent from answering, and Fault for a program that ended
        without an answer."""
        await self._start()
        case.readable = list(task.files)  # for the tools: what else lies there may be gold
        session = Session(case, task, self._program.requests)
        token = self._endpoint.open(session.reached())
        gateway = await self._gateway(case.sample.task) if task.tools else None
        if gateway:
            gateway.offer(session, token)
        folder = case.folder.with_name(f"{case.folder.name}.agent")
        try:
            remove_tree(folder)
            (folder / FOLDER).mkdir(parents=True)
            folder.chmod(0o700)
            case.folder.mkdir(parents=True, exist_ok=True)
            session.program = asyncio.ensure_future(self._run(session, folder, token, gateway))
            try:
                result = await session.program
            except asyncio.CancelledError:
                if session.fault is not None and case.is_unfinished:
                    raise session.fault from None
                raise
            await self._end(token, gateway)
            preset = self._program.preset
            printed = read_printed(result.stdout, preset.reader, preset.prefix) if preset else None
            reply, odd = read_answer(folder, result, printed)
            note = self._own_account(session, folder, printed)
            await asyncio.to_thread(take_files, files_below(folder / FOLDER), case.folder / FOLDER)
        finally:
            await self._end(token, gateway)
            remove_tree(folder)
            with contextlib.suppress(OSError):  # it holds files, or could not be made
                case.folder.rmdir()
        if result.reason or note or result.stdout or result.stderr:
            ending = "; ".join(filter(None, (result.reason or "it ended well", note)))
            self._logs.add(case, f"{ending}\n{result.stdout}\n{result.stderr}")
        if not (reply.text or reply.tool_calls):
            if session.fault is not None:
                raise session.fault
            if odd or result.status in ("error", "killed"):
                cause = "agent killed" if result.status == "killed" else "agent failed"
                raise Fault(self._why(result, odd), cause=cause)
        return AgentAnswer(replace(reply, usage=session.usage), tuple(session.uses))

    async def close(self) -> None:
        for gateway in self._gateways.values():
            if gateway:
                await gateway.close()
        await self._endpoint.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _end(self, token: str, gateway: ToolGateway | None) -> None:
        if gateway:
            gateway.close_session(token)
        await self._endpoint.end(token)

    async def _gateway(self, name: str) -> ToolGateway | None:
        """The task's server of the Model Context Protocol, if it has one."""
        async with self._starting:
            if name not in self._gateways:
                tools = self._tasks[name].tools
                self._gateways[name] = await tools.gateway() if tools else None
        return self._gateways[name]

    async def _start(self) -> None:
        async with self._starting:
            if not self._port:
                self._port = await self._endpoint.start()

    async def _run(self, session: Session, folder: Path, token: str, gateway: ToolGateway | None) -> SandboxResult:
        program, address, preset = self._program.process, f"http://127.0.0.1:{self._port}", self._program.preset
        env = write_task(folder, session, address, gateway.url if gateway else None, token, program.seconds)
        mcp = (gateway.url, token) if gateway else None
        words = filled(self._program.command.words, session.task, folder, mcp)
        if preset:
            last, env = set_up(preset, session.task, folder, env)
            words += last
        process = program.with_more(env, (*session.task.files, session.case.folder))
        ports = [self._port, *([gateway.port] if gateway else [])]
        return await run_program(words, folder, process, ports=ports, executor=self._threads)

    def _own_account(self, session: Session, folder: Path, printed: Printed | None) -> str:
        """Take the agent's own transcript and cost where AgentGauge saw no request. Returns what is wrong with them, or
        an empty text."""
        if session.requests:
            return ""
        case, preset = session.case, self._program.preset
        name = preset.name if preset else self._program.command.program
        if printed:
            usage, wrong = printed.usage, ""
            told, odd = printed_events(printed, name)
        else:
            figures, wrong = read_figures(folder, (USAGE,))
            usage = figures.usage
            told, odd = own_events(plain_file(folder / TRAJECTORY, MOST), name)
        session.usage += usage
        case.usage += usage
        if told:
            case.events[session.first_event :] = merge_events(case.events[session.first_event :], told)
        return "; ".join(filter(None, (odd, wrong)))

    def _why(self, result: SandboxResult, odd: str) -> str:
        last = redact(" ".join(result.stderr.split())[-_SAID:])
        hidden = self._program.process.confined and any(sign in last for sign in _OF_HIDDEN_FILES)
        hint = " (what an agent reads besides its command's files is listed in [agent] readable)" if hidden else ""
        return f"the agent gave no answer: {odd or result.reason}" + (f": {last}" if last else "") + hint
