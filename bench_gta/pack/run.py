"""Drives a command-line agent through a task set: one folder a task, limits, resumable, a pack at the end.

<run>/<task id>/work/      the agent's: prompt.txt, input/, files/, and whatever it writes
<run>/<task id>/files/     its deliverables, moved there when it has ended
<run>/<task id>/final.txt, stdout.txt, stderr.txt, run.json      ours, out of its reach

A task that is run again gets the folder <run>/<task id>.retry, which takes the other's place when its record is
written.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import shutil
import signal
import stat
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentgauge import sandbox
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import remove_tree, write_whole
from agentgauge.core.redaction import is_secret_name, redact, redact_file, register
from agentgauge.core.types import Json, Usage
from agentgauge.model.budget import Budget
from agentgauge.run.programs.command import Command
from agentgauge.run.programs.command import read_command as resolved
from agentgauge.run.programs.process import (
    ProgramSettings,
    refuse_shown,
    require_ports,
    require_sandbox,
    run_program,
)
from agentgauge.sandbox import SandboxResult
from bench_gta.pack import task_folder
from bench_gta.pack.create import FILES, FINAL, MOST_ANSWER, create, read_answer, with_metadata
from bench_gta.pack.format import Pack, SetTask, TaskSet, input_files, write_json, write_pack, write_text
from bench_gta.pack.task_folder import (
    RECORD,
    escaped,
    is_finished,
    made_harmless,
    number,
    plain_files,
    problem_of,
    read_record,
    read_usage,
)

if TYPE_CHECKING:
    from bench_gta.pack.tools import AgentTools
    from tool_impls.mcp import SessionAccess


WORK, INPUT, PROMPT, USAGE, STDERR = "work", "input", "prompt.txt", "usage.json", "stderr.txt"
MCP_SETTINGS, MADE = "mcp.json", "made"
OF_TOOLS = ("mcp_url", "mcp_token", "mcp_config")
PLACEHOLDERS = ("prompt", "prompt_file", "input", "output", "task_id", *OF_TOOLS)
MOST_LOG = 1 << 20  # characters of stdout.txt and of stderr.txt
LONGEST_WORD = 128 << 10  # bytes, less one, of a word of a command; the kernel's limit
MOST_CLEANED = 16 << 20  # bytes of a file that is looked through for keys
_SHORTEST_SECRET = 8  # characters; shorter values would be found by chance

_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_BRACED = re.compile(r"\{([a-z_]+)\}")


def needs_tools(command: Command) -> bool:
    """Whether a placeholder stands for the tools' address."""
    return any(f"{{{name}}}" in word for name in OF_TOOLS for word in command.words)


def read_command(text: str) -> Command:
    """The command with its placeholders. Raises UsageProblem for a missing program and for unknown placeholders."""
    command = resolved(text, "--command", "my-agent --task {prompt_file}")
    if unknown := [name for name in _BRACED.findall(text) if name not in PLACEHOLDERS]:
        known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
        raise UsageProblem(f"--command: {{{unknown[0]}}} is not a placeholder; known are {known}")
    return command


def filled(command: Command, task: SetTask, prompt: str, work: Path, access: SessionAccess | None = None) -> list[str]:
    """The words for one task. Placeholders inside inserted values are not replaced. Raises UsageProblem for a word that
    is longer than the kernel accepts."""
    values = {
        "prompt": prompt.replace("\0", ""),
        "prompt_file": str(work / PROMPT),
        "input": str(work / INPUT),
        "output": str(work / FILES),
        "task_id": str(task.id),
        "mcp_url": access.url if access else "",
        "mcp_token": access.token if access else "",
        "mcp_config": str(work / MCP_SETTINGS),
    }
    words = [_PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in command.words]
    if any(len(word.encode("utf-8", "replace")) >= LONGEST_WORD for word in words):
        raise UsageProblem(
            f"task {task.id}: its request is too long for a command line; write {{prompt_file}} instead of {{prompt}}"
        )
    return words


def prompt_of(task: SetTask, names: Sequence[str]) -> str:
    """The prompt for the agent: the request, the names of its files, and the folder for deliverables."""
    parts = [task.prompt]
    if names:
        parts.append("\n".join(["Input files:", *(f"- {INPUT}/{name}" for name in names)]))
    parts.append(f"Save every file that you produce in the folder {FILES}/. Your last message is the final answer.")
    return "\n\n".join(parts)


async def solve(
    task: SetTask,
    tasks: TaskSet,
    folder: Path,
    command: Command,
    settings: ProgramSettings,
    ports: Sequence[int] = (),
    tools: AgentTools | None = None,
) -> dict[str, Json]:
    """Let the agent work on one task in a new folder. Returns its record, which is written last: a task with a record
    is finished.

    If the folder holds a record already, time, cost and the number of attempts are added to it, and it stays until the
    new record is written. Raises UsageProblem if the folder cannot be made, and SandboxFault if the agent cannot be
    started; errors of the agent are in the record. Cancelling leaves no record. ``ports``: of this machine's loopback,
    which an agent without the network reaches all the same. ``tools``: what the agent is offered by MCP.
    """
    before = read_record(folder)
    here = folder.with_name(f"{folder.name}.retry") if before else folder
    inputs = input_files(tasks, task)
    work = _prepare(here, task, inputs)
    prompt = (work / PROMPT).read_text(encoding="utf-8")
    started = datetime.now(UTC)
    secrets = {value: name for name, value in (settings.env or {}).items() if len(value) >= _SHORTEST_SECRET}
    with contextlib.ExitStack() as stack:
        session = None
        if tools:
            opened = tools.of_task(tasks, task, {f"{INPUT}/{name}": path for path, name in inputs}, work, here / MADE)
            session = stack.enter_context(opened)
            write_json(work / MCP_SETTINGS, session.access.settings)
            settings = settings.with_more(session.access.variables, ())
            register(session.access.token)  # so that no file keeps it
        words = filled(command, task, prompt, work, session.access if session else None)
        result = await run_program(words, work, settings, ports=[*ports, *([session.port] if session else [])])
    register(*(value for value, name in secrets.items() if is_secret_name(name)))
    notes = [*map(escaped, result.notes), *made_harmless(here)]
    usage, unread = read_usage(work, USAGE)
    notes += unread
    notes += _noting(FILES, lambda: _take_files(work, here))
    if session:
        notes += _noting(MADE, partial(session.deliver, here / FILES))
    notes += _noting(here.name, lambda: _clean_files(here))
    answer, more = _answer(work, result)
    for name, text in ((FINAL, answer), ("stdout.txt", result.stdout[:MOST_LOG]), (STDERR, result.stderr[:MOST_LOG])):
        write_text(here / name, _hidden(text, secrets))
    record: dict[str, Json] = {
        "backend": command.program,
        "status": result.status,
        "error": result.reason or None,
        "returncode": result.returncode,
        "attempt": int(number(before.get("attempt")) or 1) + 1 if before else 1,
        "elapsed_sec": round(result.seconds + (number(before.get("elapsed_sec")) or 0.0), 3),
        "usd": _added(before, usage.get("usd")),
        "usage": usage,  # of this attempt
        "sandbox": list(result.layers) if settings.confined else "none",
        "network": settings.connected,
        "started_utc": started.isoformat(timespec="seconds"),
        "notes": [escaped(note) for note in (*notes, *more)],
        **({task_folder.TOOLS_KEY: session.record(task.tools)} if session else {}),
    }
    write_json(here / RECORD, record)
    if here != folder:
        _replace(folder, here)
    return record


def _added(before: Mapping[str, Json], usd: float | None) -> float | None:
    """The cost of all attempts; None where one is not known."""
    if not before:
        return usd
    earlier = number(before.get("usd"))
    return None if usd is None or earlier is None else earlier + usd


def _replace(folder: Path, new: Path) -> None:
    try:
        remove_tree(folder)
        new.rename(folder)
    except OSError as error:
        raise UsageProblem(f"{new} cannot take the place of {folder} ({error.strerror}); rename it by hand") from None


def _prepare(folder: Path, task: SetTask, inputs: Sequence[tuple[Path, str]]) -> Path:
    """A new folder for the agent; what a cut-short run has left goes."""
    work = folder.absolute() / WORK
    try:
        remove_tree(folder)
        for place in (folder, work, work / INPUT, work / FILES):
            place.mkdir(mode=0o700)
        for source, name in inputs:
            shutil.copyfile(source, work / INPUT / name)
        (work / PROMPT).write_text(prompt_of(task, [name for _, name in inputs]), encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageProblem(f"the folder {folder} cannot be made ({error.strerror}); give another --out") from None
    return work


def _noting(what: str, step: Callable[[], list[str]]) -> list[str]:
    """The notes of a step; where it fails, that it did: an agent can leave anything, and the others must go on."""
    try:
        return step()
    except OSError as error:
        return [f"{what} cannot be read ({error.strerror})"]


def _take_files(work: Path, folder: Path) -> list[str]:
    """Move the deliverables out of the agent's folder. Links stay links, are never followed and not packed."""
    left = work / FILES
    if left.is_symlink() or not left.is_dir():
        (folder / FILES).mkdir(mode=0o700)
        return [f"{FILES} is no longer a folder, so nothing is delivered"]
    left.rename(folder / FILES)
    return [f"left out: {FILES}/{what}" for what in plain_files(folder / FILES).skipped]


def _answer(work: Path, result: SandboxResult) -> tuple[str, list[str]]:
    """final.txt, else what was printed, or why the agent failed (docs/benchmarks/gta_workflow.md#packs); and notes."""
    problem = problem_of(work.resolve(), FINAL)
    if problem is None:
        try:
            return read_answer(work / FINAL)
        except OSError as error:
            problem = f"not readable ({error.strerror})"
    notes = [f"{FINAL} is not read: it is {problem}"] if problem != "missing" else []
    return (result.stdout[:MOST_ANSWER] if result.status == "ok" else f"(error) {result.reason}"), notes


def _hidden(text: str, secrets: Mapping[str, str]) -> str:
    """The text without the values of variables that the agent was given: one of them is likely a key."""
    for value, name in secrets.items():
        text = text.replace(value, f"[{name}]")
    return redact(text)


def _clean_files(folder: Path) -> list[str]:
    """Take the secrets out of text files that the agent left: settings and logs hold keys. Links are not followed."""
    for name in plain_files(folder).files:
        path = folder / name
        if path.stat().st_size <= MOST_CLEANED and (clean := redact_file(content := path.read_bytes())) != content:
            mode = path.stat().st_mode
            write_whole(path, clean)  # not into the file, which may have another name elsewhere
            path.chmod(stat.S_IMODE(mode))
    return []


T = TypeVar("T")

INTERRUPTED = 130  # exit status
SETTINGS, PACK, LOG = "settings.json", "pack.json", "tools.log"


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """The tasks to run, and the limits of the run."""

    command: Command
    settings: ProgramSettings
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
    tasks: TaskSet, out: Path, plan: AgentPlan, *, report: Callable[[SetTask, Mapping[str, Json]], None]
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
    refuse_shown(plan.settings, secret, readable="--readable", command="--command")
    sandbox.hide(secret)
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


def _tools(tasks: TaskSet, plan: AgentPlan, out: Path) -> AbstractAsyncContextManager[AgentTools]:
    from bench_gta.pack.tools import agent_tools  # with the code that serves and judges, which other runs do not load

    return agent_tools(tasks, plan.tool_server, out / LOG)


def chosen(tasks: TaskSet, ids: Sequence[int] | None) -> list[SetTask]:
    """The tasks to work on; None: all. Raises UsageProblem for an unknown id."""
    if unknown := [number for number in ids or () if number not in tasks.tasks]:
        raise UsageProblem(
            f"task {unknown[0]} is not in the task set {tasks.data.name!r}; correct --task-ids, or give other --data"
        )
    return list(tasks.tasks.values()) if ids is None else [tasks.tasks[number] for number in ids]


def _is_due(folder: Path, plan: AgentPlan) -> bool:
    return not is_finished(folder) or (plan.retry_failed and read_record(folder).get("status") != "ok")


def _take(out: Path, tasks: TaskSet, plan: AgentPlan) -> None:
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


def _metadata(plan: AgentPlan) -> dict[str, Json]:
    settings = plan.settings
    where = {"program": plan.command.program, "sandbox": settings.confined, "network": settings.connected}
    more = {"mcp": plan.mcp, "local_ports": len(plan.ports)}  # another start of a service may have another port
    return {**where, **{name: value for name, value in more.items() if value}}


def _where(run: Mapping[str, Json]) -> str:
    network = "with" if run["network"] else "without"
    tools = " and with the tools" if run.get("mcp") else ""
    tools += f" and with local ports ({run['local_ports']})" if run.get("local_ports") else ""
    return f"{'in the sandbox' if run['sandbox'] else 'without the sandbox'} {network} the network{tools}"


def _write(tasks: TaskSet, out: Path, plan: AgentPlan) -> None:
    """The pack of all tasks that are finished; tasks that a cut-short run has left half are not among them."""
    ids: Sequence[int] = [number for number in tasks.tasks if is_finished(out / str(number))]
    pack = create(out, tasks, ids=ids) if ids else Pack((), out.resolve(), tasks.data)
    write_pack(out / PACK, with_metadata(pack, tool="agentgauge pack run", **_metadata(plan)))


def _usage(record: Mapping[str, Json]) -> Usage:
    used = record["usage"]
    prompt, completion = (int(used.get(name, 0)) for name in ("prompt_tokens", "completion_tokens"))
    return Usage(0, prompt, completion, used.get("usd", 0.0))


def require_count(most: int | None) -> None:
    """Raises UsageProblem for a ``--max-tasks`` below 0."""
    if most is not None and most < 0:
        raise UsageProblem(f"--max-tasks must be 0 or more, not {most}")


def until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run to the end. Returns None, with a message to the user, if Ctrl-C, SIGTERM or a closed terminal ended it first;
    running work is cancelled and cleaned up."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        # under nohup, SIGHUP is ignored, and stays so
        handled = [name for name in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(name) != signal.SIG_IGN]
        for name in handled:
            loop.add_signal_handler(name, task.cancel)
        try:
            return await work
        finally:
            for name in handled:
                loop.remove_signal_handler(name)

    try:
        return asyncio.run(watched())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; the same command continues", file=sys.stderr)
        return None
