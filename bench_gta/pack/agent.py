"""One task for a command-line agent: its folder, its command, and the files that are kept afterwards.

<run>/<task id>/work/      the agent's: prompt.txt, input/, files/, and whatever it writes
<run>/<task id>/files/     its deliverables, moved there when it has ended
<run>/<task id>/final.txt, stdout.txt, stderr.txt, run.json      ours, out of its reach

A task that is run again gets the folder <run>/<task id>.retry, which takes the other's place when its record is
written.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentgauge.core.atomic_write import write_whole
from agentgauge.core.errors import UsageProblem
from agentgauge.core.own_folder import remove_tree
from agentgauge.core.redaction import is_secret_name, redact, redact_file, register
from agentgauge.core.types import Json
from agentgauge.run.external_agent.command import Command
from agentgauge.run.external_agent.command import read_command as resolved
from agentgauge.run.external_agent.process import AgentSettings, run_agent
from agentgauge.sandbox import SandboxResult
from bench_gta.pack import steps
from bench_gta.pack.atomic_write import write_json, write_text
from bench_gta.pack.create import FILES, FINAL, MOST_ANSWER, read_answer
from bench_gta.pack.file_selection import escaped, made_harmless, plain_files, problem_of
from bench_gta.pack.records import RECORD, number, read_record, read_usage
from bench_gta.pack.tasks import SetTask, TaskSet, input_files

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
    settings: AgentSettings,
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
        result = await run_agent(words, work, settings, ports=[*ports, *([session.port] if session else [])])
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
        **({steps.KEY: session.record(task.tools)} if session else {}),
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
    """final.txt, else what was printed, or why the agent failed (GTA-Workflow spec 6.1); and notes."""
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
