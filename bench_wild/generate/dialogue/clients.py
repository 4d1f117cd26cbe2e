"""The models of the roles, and their cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import TYPE_CHECKING

from agentgauge.core.chat import CaseKey, ChatModel, ChatRequest, Message
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Usage
from bench_wild.generate.dialogue.dialogue_state import Ask, DialogueError, Part
from bench_wild.generate.sequences import Tasks, name_of
from bench_wild.generate.settings import Settings

if TYPE_CHECKING:
    from agentgauge.model.cassette_file import CassetteReader, CassetteWriter
    from agentgauge.model.limits import AdaptiveLimiter
    from agentgauge.model.spec import ModelSpec

Open = Callable[["ModelSpec", "AdaptiveLimiter"], ChatModel]
"""Makes a model's client."""

TASK = "wild.generate"
"""The task's name in a cassette."""


class Stopped(Exception):
    """The run was stopped: the dialogue stays unfinished and counts as not attempted."""


def at_endpoint(spec: ModelSpec, limiter: AdaptiveLimiter) -> ChatModel:
    """A model behind its endpoint."""
    from agentgauge.model.client import OpenAIModel

    return OpenAIModel(spec, limiter)


class GeneratorClients:
    """The clients of one run, made when they are first needed. Belongs to one event loop."""

    def __init__(self, settings: Settings, open_model: Open) -> None:
        self._settings, self._open_model = settings, open_model
        self._models: dict[str, ChatModel] = {}
        self._reader: CassetteReader | None = None
        self._writer: CassetteWriter | None = None
        self._begin = time.monotonic()
        self.usage = Usage()
        self.running = 0  # requests that have no reply yet
        self.stopped = ""  # why; empty: goes on

    def stop(self, why: str) -> None:
        """Stop the run. The first reason counts."""
        self.stopped = self.stopped or why

    def ask_for(self, sequence: Tasks, attempt: int, replies: list[Mapping[str, str]]) -> Ask:
        """The function that asks the models for one dialogue, and adds what they reply to ``replies``. It raises
        Stopped, the Faults of the models, and DialogueError where one refuses."""
        turns = count()

        async def ask(part: Part, name: str, messages: tuple[Message, ...]) -> str:
            if self.stopped:
                raise Stopped(self.stopped)
            case = CaseKey(TASK, name_of(sequence), attempt, next(turns))
            request = ChatRequest(messages, temperature=self._settings.temperature, case=case)
            self.running += 1
            try:
                reply = await self._model(name).complete(request)
            except ModelFault as fault:
                self.usage += fault.usage
                raise
            finally:
                self.running -= 1
            replies.append({"part": part, "model": name, "reply": reply.text or reply.refusal or ""})
            self.usage += reply.usage
            budget = self._settings.budget
            if budget and (why := budget.spent(self.usage, time.monotonic() - self._begin)):
                self.stop(why)
            if reply.refusal and not reply.text:
                raise DialogueError("refusal", f"{name} refused: {reply.refusal}")
            return reply.text

        return ask

    async def close(self) -> None:
        for model in self._models.values():
            await model.close()
        if self._writer:
            self._writer.close()

    def _model(self, name: str) -> ChatModel:
        if name not in self._models:
            self._models[name] = self._make(name)
        return self._models[name]

    def _make(self, name: str) -> ChatModel:
        from agentgauge.model.cassette import RecordingModel, ReplayModel
        from agentgauge.model.cassette_file import CassetteReader, CassetteWriter
        from agentgauge.model.limits import AdaptiveLimiter

        settings = self._settings
        if settings.replay:
            self._reader = self._reader or CassetteReader(settings.replay, {})
            return ReplayModel(self._reader, name)
        spec = settings.specs[name]
        model = self._open_model(spec, AdaptiveLimiter(settings.in_flight, timeout=spec.timeout))
        if settings.record:
            self._writer = self._writer or CassetteWriter(settings.record, {})
            model = RecordingModel(model, self._writer)
        return model
