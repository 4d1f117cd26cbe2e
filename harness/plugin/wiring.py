"""Putting a run's models and tools together from its settings."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from harness.errors import ToolFault
from harness.model.types import ChatModel
from harness.plugin.options import Settings
from harness.pools import drop_waiting
from harness.services import Service
from harness.store import RunFolder
from harness.task import SAME, Task, find_task
from harness.tools import ToolBox
from harness.types import RUN_TOKEN

if TYPE_CHECKING:
    from harness.model.cassette import CassetteReader
    from harness.model.limits import AdaptiveLimiter

SERVICES = "services.json"
"""In the run folder: addresses of the helper processes, for the workers."""


def start_services(settings: Settings, folder: RunFolder, tasks: set[str]) -> list[Service]:
    """Start what the selected tasks need, all at once, and write the addresses down. Raises UsageProblem."""
    services = _needed(settings, folder, tasks)
    try:
        for service in services.values():
            service.spawn()
        addresses = {name: service.ready() for name, service in services.items()}
    except Exception:
        stop_services(list(services.values()))
        raise
    if settings.tool_server:
        addresses["tools"] = settings.tool_server
    folder.write_json(SERVICES, addresses)
    return list(services.values())


def _needed(settings: Settings, folder: RunFolder, tasks: set[str]) -> dict[str, Service]:
    """By the names under which workers look their addresses up."""
    services: dict[str, Service] = {}
    if settings.spec and settings.spec.embedded:
        services["model"] = _embedded(settings, folder, tasks, "model", settings.spec.name, settings.dialect)
    used = {option.name for name in tasks for option in find_task(name).options}
    for part, spec in settings.parts.items():
        if part in used and spec.embedded:
            services[part] = _embedded(settings, folder, tasks, part.removeprefix("--"), spec.name, "native")
    for name in sorted(tasks):
        backend = settings.similarity[name]
        if command := find_task(name).similarity_server(backend):
            services.setdefault(_served(backend), Service("similarity server", command, folder.path / "logs" / "similarity.log"))
    if settings.spec is not None and settings.tool_server is None and (needing := [n for n in sorted(tasks) if find_task(n).needs_tools]):
        command = find_task(needing[0]).tool_server(settings.file, scoring=settings.scoring, allow_unsafe=settings.allow_unsafe_code)
        services["tools"] = Service("tool server", command, folder.path / "logs" / "tools.log")
    return services


def _served(backend: str) -> str:
    return f"similarity {backend}"


def _embedded(settings: Settings, folder: RunFolder, tasks: set[str], title: str, model: str, dialect: str) -> Service:
    command = [sys.executable, "-m", "harness.model.embedded.serve", "--model", model, "--port", "0"]
    command += ["--dialect", dialect, "--options", json.dumps(settings.options)]
    for name in sorted(tasks):
        command += ["--data", f"{find_task(name).data_set}={settings.roots[name]}"]
    return Service(f"embedded {title}", command, folder.path / "logs" / f"{title}.log")


def stop_services(services: list[Service]) -> None:
    for service in reversed(services):
        service.stop()


class Wiring:
    """The clients of one worker. Made inside the event loop, when the first case needs them."""

    def __init__(self, settings: Settings, folder: RunFolder, width: int) -> None:
        self._settings = settings
        self._folder = folder
        self._width = width
        self._limiters: list[AdaptiveLimiter] = []
        self.on_rest: Callable[[], None] | None = None
        """Called when ``at_rest`` has changed."""
        self._models: dict[str, ChatModel] = {}
        self._boxes: dict[str, ToolBox | None] = {}
        self._reader: CassetteReader | None = None

    def model(self, part: str = "") -> ChatModel:
        """The model that this worker's cases talk to, or the one that an option names for a part of its own."""
        if part and self._settings.options[part] == SAME:
            part = ""
        if part not in self._models:
            self._models[part] = self._make_model(part)
        return self._models[part]

    def at_rest(self) -> int:
        """How many requests wait for their next try."""
        return sum(limiter.at_rest for limiter in self._limiters)

    def widen(self, room: int) -> None:
        """As many requests in the air as solves in flight: workers lend each other places."""
        self._width = room
        for limiter in self._limiters:
            limiter.resize(room)

    def box(self, task: Task) -> ToolBox | None:
        """The real tools of a task, or None where it uses none."""
        if task.name not in self._boxes:
            self._boxes[task.name] = self._make_box(task) if task.needs_tools else None
        return self._boxes[task.name]

    def similarity(self) -> Mapping[str, str]:
        """Task name → similarity backend, with ``@`` and the address where a server compares texts by it."""
        backends = self._settings.similarity
        if not any(find_task(name).similarity_server(backend) for name, backend in backends.items()):
            return backends
        servers = self._addresses()
        urls = {name: servers.get(_served(backend)) for name, backend in backends.items()}
        return {name: f"{backend}@{urls[name]}" if urls[name] else backend for name, backend in backends.items()}

    async def close(self) -> None:
        for client in (*self._models.values(), *self._boxes.values()):
            if client is not None:
                await client.close()
        drop_waiting()

    def _make_model(self, part: str) -> ChatModel:
        from harness.model.cassette import Cassette, RecordingModel, ReplayModel
        from harness.model.client import OpenAIModel
        from harness.model.limits import AdaptiveLimiter

        if self._settings.replay:
            return ReplayModel(self._tape(), str(self._settings.options[part]) if part else self._settings.model.name)
        spec = self._settings.parts[part] if part else self._settings.spec
        assert spec is not None, "only a replayed or rescored run has no model to reach"
        if spec.embedded:
            spec = spec.served_at(self._addresses()[part or "model"])
        limiter = AdaptiveLimiter(self._width)
        limiter.on_rest = self.on_rest
        self._limiters.append(limiter)
        model: ChatModel = OpenAIModel(spec, limiter)
        if self._settings.record:
            model = RecordingModel(model, Cassette.append_to(self._settings.record, self._tokens()))
        return model

    def _make_box(self, task: Task) -> ToolBox:
        from harness.model.cassette import Cassette, RecordingToolBox, ReplayToolBox

        if self._settings.replay:
            return ReplayToolBox(self._tape())
        box = task.toolbox(self._addresses()["tools"])
        if self._settings.record:
            box = RecordingToolBox(box, Cassette.append_to(self._settings.record, self._tokens()))
        return box

    def _tape(self) -> CassetteReader:
        """One reader for the model and the tools: it indexes the whole file."""
        from harness.model.cassette import Cassette

        if self._reader is None:
            assert self._settings.replay is not None
            self._reader = Cassette.read(self._settings.replay, self._tokens())
        return self._reader

    def _tokens(self) -> Mapping[str, str]:
        """Real path → token. Each data set has a token of its own: a cassette must find its way back."""
        roots = {str(root): f"{{ROOT:{find_task(name).data_set}}}" for name, root in self._settings.roots.items()}
        return {**roots, str(self._folder.path): RUN_TOKEN}

    def _addresses(self) -> Mapping[str, str]:
        try:
            addresses: Mapping[str, str] = json.loads((self._folder.path / SERVICES).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ToolFault("the controller has started no services for this run", cause="no services") from None
        return addresses
