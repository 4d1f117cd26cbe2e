"""What a process does that records or replays, and the settings of the run that is replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from agentgauge.core.chat import CaseKey, ChatModel
from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import ToolBox
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.recording.cassette import (
    Cassette,
    RecordingModel,
    RecordingToolBox,
    ReplayModel,
    ReplayToolBox,
    recorded_settings,
)
from agentgauge.replies.store import Replies
from agentgauge.run.part import OUTERMOST, Part, Process
from agentgauge.run.settings import ModelFacts


class Recording(Part):
    """Puts a recorder around the models and tools of a process."""

    layer = OUTERMOST  # what a cache has answered is recorded, too

    def __init__(self, file: Path, process: Process) -> None:
        self._store = Replies(file, process.placeholders)

    def around_model(
        self, model: ChatModel, spec: ModelSpec | None, role: str, on_reply: Callable[[CaseKey], None] | None
    ) -> ChatModel:
        return RecordingModel(model, self._store)

    def around_tools(self, box: ToolBox) -> ToolBox:
        return RecordingToolBox(box, self._store)

    async def close(self) -> None:
        self._store.close()


class Playing(Part):
    """Answers in the place of models and tools."""

    def __init__(self, file: Path, process: Process) -> None:
        self._file = file
        self._process = process

    @cached_property
    def _cassette(self) -> Cassette:
        """One for the models and the tools: it indexes the whole file."""
        return Cassette(self._file, self._process.placeholders)

    def model(self, name: str, spec: ModelSpec | None, role: str) -> ChatModel:
        return ReplayModel(self._cassette, name)

    def tools(self) -> ToolBox:
        return ReplayToolBox(self._cassette)

    async def close(self) -> None:
        if "_cassette" in vars(self):
            self._cassette.close()


def recorded_run(path: Path) -> Mapping[str, Any]:
    """The settings of a recorded run. Raises UsageProblem for a file that is no cassette."""
    found = recorded_settings(path)
    kinds: Mapping[type, Sequence[str]] = {
        dict: ("model", "tools", "options"),
        str: ("dialect", "data", "scoring"),
        int: ("attempts",),
    }
    try:
        is_whole = (
            all(isinstance(found.get(name, kind()), kind) for kind, names in kinds.items() for name in names)
            and isinstance(ModelFacts(**found["model"]).name, str)
            and all(isinstance(value, str | bool) for value in found.get("options", {}).values())
            and all(isinstance(one, dict) for one in found["tools"].values())
        )
    except (KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise UsageProblem(f"{path}, line 1: the settings of the recorded run are damaged; record the cassette again")
    return found
