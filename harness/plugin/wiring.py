"""Putting a run's models and tools together from its settings."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from harness.errors import ToolFault
from harness.model.types import ChatModel
from harness.plugin.options import Settings
from harness.services import Service
from harness.store import RunFolder
from harness.task import Task, find_task
from harness.tools import ToolBox
from harness.types import ROOT_TOKEN, RUN_TOKEN

SERVICES = "services.json"
"""In the run folder: addresses of the helper processes, for the workers."""


def start_services(settings: Settings, folder: RunFolder, tasks: set[str]) -> list[Service]:
    """Start what the selected tasks need and write the addresses down. Raises UsageProblem."""
    services: list[Service] = []
    addresses: dict[str, str] = {}
    live = settings.replay is None and settings.rescore is None
    try:
        if live and settings.model.embedded:
            command = [sys.executable, "-m", "harness.model.embedded.serve", "--model", settings.model.name, "--port", "0"]
            for name in sorted(tasks):
                command += ["--data", f"{find_task(name).data_set}={settings.roots[name]}"]
            services.append(Service("embedded model", command, folder.path / "logs" / "model.log"))
            addresses["model"] = services[-1].start()
        if live and settings.tool_server is None and (needing := [name for name in sorted(tasks) if find_task(name).needs_tools]):
            services.append(Service("tool server", find_task(needing[0]).tool_server(settings.file), folder.path / "logs" / "tools.log"))
            addresses["tools"] = services[-1].start()
    except Exception:
        stop_services(services)
        raise
    if settings.tool_server:
        addresses["tools"] = settings.tool_server
    folder.write_json(SERVICES, addresses)
    return services


def stop_services(services: list[Service]) -> None:
    for service in reversed(services):
        service.stop()


def make_model(settings: Settings, folder: RunFolder, width: int) -> ChatModel:
    """The model that this worker's cases talk to. Called inside the event loop."""
    spec = settings.model
    if settings.replay:
        from harness.model.cassette import Cassette, ReplayModel

        return ReplayModel(Cassette.read(settings.replay, portable_paths(settings, folder)), spec.name)
    from harness.model.client import OpenAIModel
    from harness.model.limits import AdaptiveLimiter

    if spec.embedded:
        spec = spec.served_at(_addresses(folder)["model"])
    model: ChatModel = OpenAIModel(spec, AdaptiveLimiter(width))
    if settings.record:
        from harness.model.cassette import Cassette, RecordingModel

        model = RecordingModel(model, Cassette.append_to(settings.record, portable_paths(settings, folder)))
    return model


def make_box(settings: Settings, folder: RunFolder, task: Task) -> ToolBox | None:
    """The real tools of a task, or None where it uses none. Called inside the event loop."""
    if not task.needs_tools:
        return None
    if settings.replay:
        from harness.model.cassette import Cassette, ReplayToolBox

        return ReplayToolBox(Cassette.read(settings.replay, portable_paths(settings, folder)))
    box = task.toolbox(_addresses(folder)["tools"])
    if settings.record:
        from harness.model.cassette import Cassette, RecordingToolBox

        box = RecordingToolBox(box, Cassette.append_to(settings.record, portable_paths(settings, folder)))
    return box


def portable_paths(settings: Settings, folder: RunFolder) -> Mapping[str, str]:
    """Real path → token, for what is stored."""
    return {**{str(root): ROOT_TOKEN for root in settings.roots.values()}, str(folder.path): RUN_TOKEN}


def _addresses(folder: RunFolder) -> Mapping[str, str]:
    path: Path = folder.path / SERVICES
    try:
        addresses: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ToolFault("the controller has started no services for this run", cause="no services") from None
    return addresses
