"""A process that runs cases, and what a plugin does there (``pytest_agentgauge_process``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentgauge.core.types import RUN_TOKEN, Json
from agentgauge.model.open_requests import OpenRequests
from agentgauge.run.planned import Planned
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder

if TYPE_CHECKING:
    from agentgauge.core.case import Case
    from agentgauge.core.chat import CaseKey, ChatModel
    from agentgauge.core.task import Task
    from agentgauge.core.tools import ToolBox
    from agentgauge.core.types import Usage
    from agentgauge.model.spec import ModelSpec


@dataclass(frozen=True)
class Place:
    """Which process of a run this is."""

    name: str = "main"  # "gw3"
    number: int = 0
    count: int = 1  # of processes that run cases
    dist: str = "no"  # --dist, as the controller has it
    first: frozenset[str] = frozenset()  # suspects of the run that is resumed: tests that every process collects first
    left: Sequence[int] | None = None  # of the replacement for a worker that died: positions of the tests in its queue


MAIN = Place()
"""The one process of a run without workers."""


@dataclass(frozen=True)
class Process:
    """A process that runs cases of a run."""

    settings: Settings
    folder: RunFolder
    place: Place
    tasks: Collection[str]  # the names of those with cases here
    recheck: Callable[[], None] = field(default=lambda: None, compare=False)
    """To be called in the event loop when ``Part.is_ready`` of a case has changed."""

    requests: OpenRequests = field(default_factory=OpenRequests, compare=False)
    """Those of its models."""

    @property
    def placeholders(self) -> Mapping[str, str]:
        """Real path → placeholder, for what another run reads. Each data set has one of its own: what is stored must
        find its way back."""
        tasks = self.settings.tasks
        roots = {str(root): f"{{ROOT:{tasks[name].data.name}}}" for name, root in self.settings.roots.items()}
        return {**roots, str(self.folder.path): RUN_TOKEN}


OUTERMOST = 10


class Part:
    """What a plugin does there: nothing, but for what it overrides. All belongs to one event loop.

    A client that cases get has layers. Inside is AgentGauge's own, or what ``model`` or ``tools`` of a part gives;
    around it lies what the parts put there, each around those of a lower ``layer``. A cache lies in layer 0 and a
    recording in the OUTERMOST, so that it holds what the cache has answered.
    """

    layer = 0

    # -- clients

    def model(self, name: str, spec: ModelSpec | None, role: str) -> ChatModel | None:
        """The client of a model in the place of AgentGauge's own, or of an object that the project gives; the first
        that is not None counts. ``spec``: None for such an object, and where the run asks no model. ``role``: empty
        for the tested model."""
        return None

    def around_model(
        self, model: ChatModel, spec: ModelSpec | None, role: str, on_reply: Callable[[CaseKey], None] | None
    ) -> ChatModel:
        """The client that cases get. ``spec``, ``role``: as above. ``on_reply``: to be called when a request of a case
        has its answer, where ``model`` itself was not asked."""
        return model

    def tools(self) -> ToolBox | None:
        """The tools of a task in the place of AgentGauge's own, or of an object that the project gives; the first that
        is not None counts."""
        return None

    def around_tools(self, box: ToolBox) -> ToolBox:
        """The tools that cases get."""
        return box

    # -- cases

    def solver(self, task: Task) -> Callable[[Case], Awaitable[Json]] | None:
        """What gives the outputs of a task's cases in the place of its ``run``; the first that is not None counts."""

    def is_ready(self, case: Planned) -> bool:
        """Whether a case can be started; otherwise other cases start before it."""
        return True

    def take(self, case: Planned) -> bool:
        """Whether a case that could be started now starts, with what it takes of something that is short, such as a
        budget; otherwise no other case starts before it. Asked again soon, also where another part has held it up."""
        return True

    def started(self, case: Planned) -> None:
        """A case starts."""

    def replied(self, case: CaseKey) -> None:
        """The tested model has answered a request of a case."""

    def ended(self, case: Planned, used: Usage) -> None:
        """A case has ended, and its record can be read. ``used``: by this attempt to run it."""

    def note(self) -> None:
        """Called a few times a second while cases run: note what the progress line is to show
        (``pytest_agentgauge_progress``)."""

    def stop(self) -> None:
        """The run stops: start nothing new. What endpoints work on goes on."""

    async def close(self) -> None:
        """The process runs no case any more."""
