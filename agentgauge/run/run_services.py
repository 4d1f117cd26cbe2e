"""The services of a run: servers of tools and of similarity that it starts once, for all workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task import RealTools, Task
from agentgauge.core.tools import Tool, ToolBox, ToolOutput
from agentgauge.run.services import Service
from agentgauge.run.settings import Settings, runs_here
from agentgauge.run.several.shared_services import made_service
from agentgauge.store import RunFolder

# -- Cases that wait for a tool server that is starting.


class PendingToolBox:
    """A tool box whose server may still be starting. Counts the cases that wait for it: they use no slot."""

    def __init__(self, box: ToolBox, on_change: Callable[[], object]) -> None:
        self._box = box
        self._on_change = on_change
        self._is_there = False
        self._was_waited_for = False
        self.waiting = 0

    @property
    def takes_more(self) -> bool:
        """Whether one more case may begin. The first case, or a few that begin together, waits for the server; after
        that every case may begin. If the server never starts, each case reports it."""
        return self._was_waited_for or not self.waiting

    async def catalog(self) -> Mapping[str, Tool]:
        if self._is_there:
            return await self._box.catalog()
        self.waiting += 1
        self._on_change()
        try:
            found = await self._box.catalog()
            self._is_there = True
        finally:
            self.waiting -= 1
            self._was_waited_for = True
            self._on_change()
        return found

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        return await self._box.call(name, arguments, folder=folder, readable=readable)

    async def close(self) -> None:
        await self._box.close()


# -- The helper processes that the selected tasks of a run need.


SERVICES = "services.json"
"""In the run folder: addresses of the helper processes, for the workers."""


def start_services(
    settings: Settings, folder: RunFolder, tasks: set[str], failed: Callable[[UsageProblem], None]
) -> dict[str, Service]:
    """Start all services that the selected tasks need, and write their addresses to the run folder. Requests to a
    service queue until it is ready.

    ``failed`` is called, in another thread, if a service does not start.
    """
    services = _needed(settings, folder, {name for name in tasks if runs_here(settings, settings.tasks[name])})
    try:
        for service in dict.fromkeys(services.values()):  # one may have several names
            service.spawn(failed)
        addresses = {name: service.url for name, service in services.items()}
        folder.write_json(SERVICES, addresses)
    except BaseException:
        stop_services(services)
        raise
    return services


def _needed(settings: Settings, folder: RunFolder, tasks: set[str]) -> dict[str, Service]:
    """By the names under which workers look their addresses up."""
    services: dict[str, Service] = {}
    for name in sorted(tasks):
        backend = settings.similarity[name]
        if command := similarity_command(settings.tasks[name], backend):
            log = folder.path / "logs" / "similarity.log"
            server = made_service("similarity server", command, log, settings.shared)
            services.setdefault(similarity_name(backend), server)
    if settings.earlier_tools is None and settings.tool_server is None:
        services |= _tool_servers(settings, folder, tasks)
    return services


def _tool_servers(settings: Settings, folder: RunFolder, tasks: set[str]) -> dict[str, Service]:
    """One for each command: tasks whose tools one server has share it."""
    servers: dict[str, Service] = {}
    by_command: dict[tuple[str, ...], Service] = {}
    for name in sorted(tasks):
        if tools := settings.tasks[name].tools:
            command = tool_command(settings, tools)
            if command not in by_command:
                log = folder.path / "logs" / f"tools{f'-{len(by_command) + 1}' if by_command else ''}.log"
                by_command[command] = made_service("tool server", command, log, settings.shared)
            servers[tools_name(name)] = by_command[command]
    return servers


def tool_command(settings: Settings, tools: RealTools) -> tuple[str, ...]:
    """The command of the tool server of a task."""
    unsafe = settings.allow_unsafe_code
    return tuple(tools.tool_server(settings.file, scoring=settings.scoring, allow_unsafe=unsafe))


def tools_name(task: str) -> str:
    return f"tools of {task}"


def similarity_command(task: Task, backend: str) -> list[str]:
    return task.similarity.server(backend) if task.similarity else []


def similarity_name(backend: str) -> str:
    return f"similarity {backend}"


def stop_services(services: Mapping[str, Service]) -> None:
    for service in services.values():
        service.stop()
