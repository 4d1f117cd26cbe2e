"""Makes a run's clients for models and tools from its settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.chat import CaseKey, ChatModel
from agentgauge.core.errors import ToolFault, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, without_token
from agentgauge.core.task import RealTools, Task
from agentgauge.core.task_options import SAME
from agentgauge.core.tools import ToolBox
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import first
from agentgauge.run.coordination.stopping import StopFile
from agentgauge.run.part import Part, Process
from agentgauge.run.planned import Given
from agentgauge.run.preflight import reported_names
from agentgauge.run.run_services import SERVICES, PendingToolBox, similarity_command, similarity_name, tools_name
from agentgauge.run.thread_pools import hold_threads, release_threads

if TYPE_CHECKING:
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.embedded.model import EmbeddedModel
    from agentgauge.model.limits import AdaptiveLimiter


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a service. ``model``: the name of the model in requests; empty for the tool server."""

    url: str
    key: str = field(default="", repr=False)
    model: str = ""


class Clients:
    """The clients of one worker. Made inside the event loop, when the first case needs them."""

    def __init__(self, process: Process, width: int, parts: Sequence[Part]) -> None:
        self._settings = process.settings
        self._parts = parts
        self._folder = process.folder
        self._width = width
        self._stopped = StopFile(process.folder.path).exists
        self._limiters: list[AdaptiveLimiter] = []
        self._live_models: list[OpenAIModel | EmbeddedModel] = []
        self.on_rest: Callable[[], None] | None = None
        """Called when ``at_rest`` has changed."""
        self.on_reply: Callable[[CaseKey], None] | None = None
        """Called when the tested model has answered a request of a case."""
        self._requests = process.requests
        self._models: dict[str, ChatModel] = {}
        self._others: list[tuple[ModelSpec | ChatModel, ChatModel]] = []
        self._other_boxes: list[tuple[ToolBox, ToolBox]] = []
        self._boxes: dict[str, ToolBox | None] = {}
        hold_threads()

    def model(self, role: str = "") -> ChatModel:
        """The tested model of this worker's cases, or the model that an option names for a role."""
        if role and role not in self._settings.options:
            raise UsageProblem(f"no task has the option {role}, which names the model of a role; add it to its options")
        if role and self._settings.options[role] == SAME:
            role = ""
        if role not in self._models:
            self._models[role] = self._make_model(role)
        return self._models[role]

    def tested(self, given: Given) -> ChatModel:
        """The model of a case: the run's, or what its test gives."""
        if (other := given.spec or given.model) is None:
            return self.model()
        for known, model in self._others:
            if known == other:
                return model
        model = self._made(other.name, given.spec, "", given.model)
        self._others.append((other, model))
        return model

    def tools(self, given: Given, task: Task) -> ToolBox | None:
        """The tools of a case: the run's, or what its test gives."""
        if given.tools is None:
            return self.box(task)
        for known, box in self._other_boxes:
            if known == given.tools:
                return box
        instead = self._instead_of_tools()
        box = self._around_tools(given.tools if instead is None else instead)
        self._other_boxes.append((given.tools, box))
        return box

    def sampling(self, spec: ModelSpec) -> dict[str, Any]:
        """Temperature and limit of replies of another model in the tested one's place: the command line's, or its
        own."""
        given = self._settings.temperature, self._settings.max_tokens
        own = spec.temperature, spec.max_tokens
        return dict(zip(("temperature", "max_tokens"), map(first, given, own), strict=True))

    def tool_server(self, task: str) -> Endpoint:
        """The task's tool server, for programs with their own client. Raises UsageProblem if the run has none."""
        if self._settings.earlier_tools is not None:
            raise UsageProblem("a run that asks no model has no tools at an address; start a new one")
        url, token = without_token(self._settings.tool_server or self._addresses()[tools_name(task)])
        return Endpoint(url, token or os.environ.get(TOOL_TOKEN, ""))

    def at_rest(self) -> int:
        """How many cases only wait: for the next attempt of a request, or for the start of the tool server."""
        arriving = sum(box.waiting for box in self._boxes.values() if isinstance(box, PendingToolBox))
        return arriving + self.resting()

    def older_than(self, seconds: float) -> int:
        """How many requests to models were sent more than ``seconds`` ago and have no answer yet."""
        return sum(limiter.older_than(seconds) for limiter in self._limiters)

    def limit(self) -> int:
        """How many requests may be on their way to models' endpoints now."""
        return sum(limiter.limit for limiter in self._limiters)

    def resting(self) -> int:
        """How many requests to models wait for their next attempt."""
        return sum(limiter.at_rest for limiter in self._limiters)

    def retries(self) -> int:
        """How often requests to models have waited for their next attempt so far."""
        return sum(limiter.retries for limiter in self._limiters)

    def tokens(self) -> int:
        """The tokens of all replies of models so far."""
        return sum(model.tokens for model in self._live_models)

    def ready(self, task: Task) -> bool:
        """Whether one more case of a task can start: its tool server is ready, or the case is needed to find that
        out.
        """
        box = self._boxes.get(task.name)
        return not isinstance(box, PendingToolBox) or box.takes_more

    def resize(self, slots: int) -> None:
        """Allow as many concurrent requests as cases may run, because idle workers give up slots."""
        self._width = slots
        for limiter in self._limiters:
            limiter.resize(slots)

    def box(self, task: Task) -> ToolBox | None:
        """The real tools of a task, or None where it uses none."""
        if task.name not in self._boxes:
            self._boxes[task.name] = self._make_box(task.name, task.tools) if task.tools else None
        return self._boxes[task.name]

    def similarity(self) -> Mapping[str, str]:
        """Task name → similarity backend, with ``@`` and the address where a server compares texts by it."""
        backends = self._settings.similarity
        if not any(similarity_command(self._settings.tasks[name], backend) for name, backend in backends.items()):
            return backends
        servers = self._addresses()
        urls = {name: servers.get(similarity_name(backend)) for name, backend in backends.items()}
        return {name: f"{backend}@{urls[name]}" if urls[name] else backend for name, backend in backends.items()}

    def stop(self) -> None:
        """Send no further request to a model. Those that endpoints work on go on."""
        self._requests.stop()

    @property
    def sent(self) -> int:
        """Requests that endpoints of models work on."""
        return self._requests.sent

    async def close(self) -> None:
        others = [model for known, model in self._others if isinstance(known, ModelSpec)]  # a test's own stay open
        for client in (*self._models.values(), *others, *self._boxes.values()):
            if client is not None:
                await client.close()
        release_threads()

    def _make_model(self, role: str) -> ChatModel:
        settings = self._settings
        spec = settings.roles.get(role) if role else settings.spec
        spec = spec and replace(spec, reported=reported_names(self._folder.path).get(role))
        return self._made(str(settings.options[role]) if role else settings.model.name, spec, role)

    def _made(self, name: str, spec: ModelSpec | None, role: str, given: ChatModel | None = None) -> ChatModel:
        """``given``: an object of the project's own."""
        on_reply = None if role else self.on_reply
        instead = (part.model(name, spec, role) for part in self._parts)
        model = next((model for model in chain(instead, (given,)) if model is not None), None)
        if model is None:
            model = self._own_model(spec, role, on_reply)
        for part in self._parts:
            model = part.around_model(model, spec, role, on_reply)
        return model

    def _own_model(self, spec: ModelSpec | None, role: str, on_reply: Callable[[CaseKey], None] | None) -> ChatModel:
        assert spec is not None, "a run that has no model to reach repeats another, or asks none"
        if spec.embedded:
            return self._embedded_model(spec, "native" if role else self._settings.dialect, on_reply)
        return self._live_model(spec, on_reply)

    def _embedded_model(
        self, spec: ModelSpec, dialect: str, on_reply: Callable[[CaseKey], None] | None
    ) -> EmbeddedModel:
        from agentgauge.model.embedded.model import EmbeddedModel

        tasks = self._settings.tasks
        data = {tasks[name].data.name: root for name, root in self._settings.roots.items()}
        model = EmbeddedModel(spec, tasks=tasks, data=data, dialect=dialect, on_reply=on_reply, requests=self._requests)
        self._live_models.append(model)
        return model

    def _live_model(self, spec: ModelSpec, on_reply: Callable[[CaseKey], None] | None) -> ChatModel:
        from agentgauge.model.client import OpenAIModel
        from agentgauge.model.limits import START, AdaptiveLimiter
        from agentgauge.model.outage import FILE as OUTAGES
        from agentgauge.model.outage import Outage
        from agentgauge.model.rates import FILE, rates_of
        from agentgauge.model.retry import backoff_scale

        # START is for all workers together, whose shares may differ by one
        start = START * self._width // self._settings.slots
        limiter = AdaptiveLimiter(self._width, start=start, timeout=spec.timeout)
        limiter.on_rest = self.on_rest
        self._limiters.append(limiter)
        shared = self._settings.shared
        rates = rates_of(spec, Path(shared.rates) if shared else self._folder.path / FILE)
        outage = Outage(spec, scale=backoff_scale(), file=self._folder.path / OUTAGES, stopped=self._stopped)
        model = OpenAIModel(spec, limiter, rates=rates, outage=outage, on_reply=on_reply, requests=self._requests)
        self._live_models.append(model)
        return model

    def _make_box(self, name: str, tools: RealTools) -> ToolBox:
        if (instead := self._instead_of_tools()) is not None:
            return self._around_tools(instead)
        box = self._around_tools(tools.toolbox(self._settings.tool_server or self._addresses()[tools_name(name)]))
        if self._settings.tool_server:
            return box
        return PendingToolBox(box, lambda: self.on_rest and self.on_rest())

    def _instead_of_tools(self) -> ToolBox | None:
        return next((box for part in self._parts if (box := part.tools()) is not None), None)

    def _around_tools(self, box: ToolBox) -> ToolBox:
        for part in self._parts:
            box = part.around_tools(box)
        return box

    def _addresses(self) -> Mapping[str, str]:
        try:
            addresses: Mapping[str, str] = json.loads((self._folder.path / SERVICES).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ToolFault("the controller has started no services for this run", cause="no services") from None
        return addresses
