"""Driving a command-line agent through a task set: one folder a task, limits, resumable, a pack at the end."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Json, Usage
from agentgauge.run.external_agent.command import Command
from agentgauge.run.external_agent.process import AgentSettings, hide_from_agents, require_ports, require_sandbox
from agentgauge.run.gates import Budget
from bench_gta.pack.agent import solve
from bench_gta.pack.atomic_write import write_json
from bench_gta.pack.create import create, with_metadata
from bench_gta.pack.format import Pack, write_pack
from bench_gta.pack.records import is_finished, read_record
from bench_gta.pack.tasks import SetTask, TaskSet

if TYPE_CHECKING:
    from bench_gta.pack.tools import AgentTools

SETTINGS, PACK, LOG = "settings.json", "pack.json", "tools.log"


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks to run, and the limits of the run."""

    command: Command
    settings: AgentSettings
    ids: Sequence[int] | None = None  # None: all tasks
    jobs: int = 1
    budget: Budget | None = None
    max_tasks: int | None = None  # of the tasks that remain
    retry_failed: bool = False  # run those again that did not end well
    ports: tuple[int, ...] = ()  # of this machine's loopback, which an agent without the network reaches all the same
    mcp: bool = False  # offer agents the task set's tools
    tool_server: str | None = None  # whose tools these are; None: one of our own


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a call."""

    pack: Path
    done: tuple[int, ...]  # task ids, as they ended
    stopped: str  # why it stopped before the end; empty if it did not
    unpriced: int  # tasks of this call whose cost the agent did not tell
    tool_states: Mapping[str, str]  # of the offered tools that do not run in their official form


async def run_tasks(
    tasks: TaskSet, out: Path, plan: Plan, *, report: Callable[[SetTask, Mapping[str, Json]], None]
) -> RunProgress:
    """Let the agent work on every task that is not finished. After each, the pack in ``out`` is replaced and ``report``
    gets the task and its record.

    A task is finished when its record is there, however the agent ended, unless that was from outside. Raises
    UsageProblem for a folder of another
    command, task set or confinement, if agents cannot be confined, and if they could read the gold; SandboxFault if an
    agent cannot be started. Cancelling ends the agents; their tasks are run again next time.
    """
    require_sandbox(plan.settings, "--no-sandbox")
    if plan.mcp or plan.ports:
        require_ports(plan.settings, "--network or --no-sandbox, or leave --mcp and --local-port out")
    secret = {out: "the folder of the run", tasks.root: "the task set"}
    hide_from_agents(plan.settings, secret, readable="--readable", command="--command")
    _take(out, tasks, plan)
    waiting = [task for task in chosen(tasks, plan.ids) if _is_due(out / str(task.id), plan)]
    stopped = ""
    if plan.max_tasks is not None and len(waiting) > (most := max(plan.max_tasks, 0)):
        waiting, stopped = waiting[:most], f"--max-tasks {plan.max_tasks}: {len(waiting) - most} remain"
    done: list[int] = []
    used: list[Usage] = []
    unpriced = 0
    began = time.monotonic()
    queue = iter(waiting)
    _write(tasks, out, plan)

    async def work(tools: AgentTools | None) -> None:
        nonlocal stopped, unpriced
        for task in queue:
            if plan.budget and (reason := plan.budget.spent(sum(used, Usage()), time.monotonic() - began)):
                stopped = stopped or reason
                return
            record = await solve(task, tasks, out / str(task.id), plan.command, plan.settings, plan.ports, tools)
            used.append(_usage(record))
            unpriced += "usd" not in record["usage"]
            done.append(task.id)
            _write(tasks, out, plan)
            report(task, record)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(plan.jobs + 4))
    async with AsyncExitStack() as stack:
        tools = await stack.enter_async_context(_tools(tasks, plan, out)) if plan.mcp and waiting else None
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(plan.jobs):
                    group.create_task(work(tools))
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None
    return RunProgress(out / PACK, tuple(done), stopped, unpriced, tools.states if tools else {})


def _tools(tasks: TaskSet, plan: Plan, out: Path) -> AbstractAsyncContextManager[AgentTools]:
    from bench_gta.pack.tools import agent_tools  # with the code that serves and judges, which other runs do not load

    return agent_tools(tasks, plan.tool_server, out / LOG)


def chosen(tasks: TaskSet, ids: Sequence[int] | None) -> list[SetTask]:
    """The tasks to work on; None: all. Raises UsageProblem for an unknown id."""
    if unknown := [number for number in ids or () if number not in tasks.tasks]:
        raise UsageProblem(
            f"task {unknown[0]} is not in the task set {tasks.data.name!r}; correct --task-ids, or give other --data"
        )
    return list(tasks.tasks.values()) if ids is None else [tasks.tasks[number] for number in ids]


def _is_due(folder: Path, plan: Plan) -> bool:
    return not is_finished(folder) or (plan.retry_failed and read_record(folder).get("status") != "ok")


def _take(out: Path, tasks: TaskSet, plan: Plan) -> None:
    """Make the folder, or make sure that it is this run's: tasks of two agents must not be mixed."""
    # not the words of the command themselves: they may hold a key
    command_digest = hashlib.sha256(json.dumps(plan.command.words).encode()).hexdigest()
    now = {"data": asdict(tasks.data), **_metadata(plan), "command_sha256": command_digest}
    file = out / SETTINGS
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(out.iterdir()):
            out.chmod(0o700)  # what agents leave in there is for no other user
            write_json(file, now)
            return
        before = json.loads(file.read_bytes())
        data, program, command = before["data"], before["program"], before["command_sha256"]
        name, where = data["name"], _where(before)
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise UsageProblem(
            f"{out} is not empty and was not made by `agentgauge pack run`; give another --out"
        ) from None
    if data["fingerprint"] != tasks.data.fingerprint:
        raise UsageProblem(
            f"{out} holds a run of the task set {name!r}, not of {tasks.data.name!r}; give another --out or other"
            " --data"
        )
    if command != command_digest:
        raise UsageProblem(
            f"{out} holds a run of another command (of {program!r}); give another --out, or the same --command"
        )
    if where != _where(now):
        raise UsageProblem(
            f"{out} holds a run {where}, not {_where(now)}; give another --out, or the same --network, --no-sandbox,"
            " --local-port and --mcp"
        )


def _metadata(plan: Plan) -> dict[str, Json]:
    settings = plan.settings
    where = {"program": plan.command.program, "sandbox": settings.confined, "network": settings.connected}
    more = {"mcp": plan.mcp, "local_ports": len(plan.ports)}  # another start of a service may have another port
    return {**where, **{name: value for name, value in more.items() if value}}


def _where(run: Mapping[str, Json]) -> str:
    network = "with" if run["network"] else "without"
    tools = " and with the tools" if run.get("mcp") else ""
    tools += f" and with local ports ({run['local_ports']})" if run.get("local_ports") else ""
    return f"{'in the sandbox' if run['sandbox'] else 'without the sandbox'} {network} the network{tools}"


def _write(tasks: TaskSet, out: Path, plan: Plan) -> None:
    """The pack of all tasks that are finished; tasks that a cut-short run has left half are not among them."""
    ids: Sequence[int] = [number for number in tasks.tasks if is_finished(out / str(number))]
    pack = create(out, tasks, ids=ids) if ids else Pack((), out.resolve(), tasks.data)
    write_pack(out / PACK, with_metadata(pack, tool="agentgauge pack run", **_metadata(plan)))


def _usage(record: Mapping[str, Json]) -> Usage:
    used = record["usage"]
    prompt, completion = (int(used.get(name, 0)) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(0, prompt, completion, used.get("usd", 0.0))
