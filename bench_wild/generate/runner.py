"""Dialogues for every sequence: many at a time, failed ones again, until all is covered or a limit is reached; and the
models of the roles with their cost."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from agentgauge.core.chat import CaseKey, ChatModel, ChatRequest, Message
from agentgauge.core.errors import Fault, ModelFault, ReplayMiss
from agentgauge.core.types import Usage
from agentgauge.run.progress import short_count
from agentgauge.run.screen import PLAIN_SECONDS
from bench_wild.generate.folder import FAILURES, FailedAttempt, GeneratorSettings, Ledger
from bench_wild.generate.play import Ask, ModelRole, new_state, play
from bench_wild.generate.texts import Tasks, name_of
from bench_wild.generate.transcript import DialogueError

if TYPE_CHECKING:
    from agentgauge.model.limits import AdaptiveLimiter
    from agentgauge.model.spec import ModelSpec
    from agentgauge.plugins.recording.cassette import Cassette
    from agentgauge.replies.store import Replies

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

    def __init__(self, settings: GeneratorSettings, open_model: Open) -> None:
        self._settings, self._open_model = settings, open_model
        self._models: dict[str, ChatModel] = {}
        self._cassette: Cassette | None = None  # that is replayed
        self._recording: Replies | None = None
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

        async def ask(part: ModelRole, name: str, messages: tuple[Message, ...]) -> str:
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
        for file in (self._cassette, self._recording):
            if file is not None:
                file.close()

    def _model(self, name: str) -> ChatModel:
        if name not in self._models:
            self._models[name] = self._make(name)
        return self._models[name]

    def _make(self, name: str) -> ChatModel:
        from agentgauge.model.limits import AdaptiveLimiter

        settings = self._settings
        if settings.replay:
            from agentgauge.plugins.recording.cassette import Cassette, ReplayModel

            self._cassette = self._cassette or Cassette(settings.replay, {})
            return ReplayModel(self._cassette, name)
        spec = settings.specs[name]
        model = self._open_model(spec, AdaptiveLimiter(settings.slots, timeout=spec.timeout))
        if settings.record:
            from agentgauge.plugins.recording.cassette import RecordingModel
            from agentgauge.replies.store import Replies

            self._recording = self._recording or Replies(settings.record)
            model = RecordingModel(model, self._recording)
        return model


INTERRUPTED = "interrupted"

Tell = Callable[[str], None]


async def generate(settings: GeneratorSettings, ledger: Ledger, tell: Tell, open_model: Open) -> tuple[str, Usage]:
    """Attempt every sequence that is not done. Returns why it ended early (a budget, ``interrupted``; empty: it did
    not) and the usage.

    Raises UsageProblem for an unusable key, and OSError where nothing can be written.
    """
    clients = GeneratorClients(settings, open_model)
    todo = [sequence for sequence in settings.sequences if name_of(sequence) not in ledger.done]
    queue = iter(todo)
    progress = _GeneratorProgress(len(todo), tell, clients)

    async def worker() -> None:
        for sequence in queue:
            await _cover(sequence, settings, ledger, clients, progress)

    workers = [asyncio.ensure_future(worker()) for _ in range(min(settings.slots, len(todo)))]
    with _signals(clients, workers):
        try:
            pending = {*workers}
            while pending:
                ended, pending = await asyncio.wait(pending, timeout=PLAIN_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
                for task in ended:
                    task.result()
                progress.show()
        except asyncio.CancelledError:
            if clients.stopped != INTERRUPTED:
                raise
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await clients.close()
    return clients.stopped, clients.usage


async def _cover(
    sequence: Tasks,
    settings: GeneratorSettings,
    ledger: Ledger,
    clients: GeneratorClients,
    progress: _GeneratorProgress,
) -> None:
    """Attempts for one sequence, until one works."""
    name = name_of(sequence)
    first = ledger.next_attempt(name)
    for attempt in range(first, first + settings.attempts):
        if clients.stopped:
            return
        chance = random.Random(f"{settings.seed} {name} {attempt}")
        replies: list[Mapping[str, str]] = []
        ask = clients.ask_for(sequence, attempt, replies)
        state = new_state(settings.lists, settings.language, settings.texts, settings.cast, ask, chance)
        try:
            dialogue = await play(state, sequence, settings.seed)
        except Stopped:
            return
        except ReplayMiss as miss:
            ledger.note(
                FailedAttempt(name, attempt, miss.cause, str(miss))
            )  # nothing was tried, so it is not written down
            return  # a further attempt cannot be in the cassette either
        except (DialogueError, Fault) as failure:
            failed = FailedAttempt(name, attempt, failure.cause, _on_one_line(str(failure)), tuple(replies))
            ledger.fail(failed)
            progress.failed(failed)
        else:
            ledger.add(dialogue, state.kept)
            progress.done()
            return


def _on_one_line(text: str) -> str:
    """A message as one line: the names in it are a model's, and must steer neither the table nor the terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


class _GeneratorProgress:
    """A line for each failure, for a few of each cause, and every ten seconds and at the end one about the whole."""

    SHOWN = 5

    def __init__(self, total: int, tell: Tell, clients: GeneratorClients) -> None:
        self._total, self._tell, self._clients, self._count = total, tell, clients, 0
        self._causes: Counter[str] = Counter()

    def show(self) -> None:
        usage, running, failed = self._clients.usage, self._clients.running, self._causes.total()
        parts = [
            f"{self._count} of {self._total} dialogues",
            f"{running} {'request' if running == 1 else 'requests'} running" if running else "",
            f"{failed} failed {'attempt' if failed == 1 else 'attempts'}" if failed else "",
            f"{short_count(usage.prompt_tokens + usage.completion_tokens)} tokens",
            f"${usage.usd:.2f}" if usage.usd else "",
        ]
        self._tell(" · ".join(filter(None, parts)))

    def done(self) -> None:
        self._count += 1

    def failed(self, failed: FailedAttempt) -> None:
        self._causes[failed.cause] += 1
        if self._causes[failed.cause] <= self.SHOWN:
            self._tell(f"{failed.sequence}, attempt {failed.attempt}: {failed.message}")
            if self._causes[failed.cause] == self.SHOWN:
                self._tell(f"only {FAILURES} lists further failures of this kind ({failed.cause})")


@contextmanager
def _signals(clients: GeneratorClients, workers: Sequence[asyncio.Future[None]]) -> Iterator[None]:
    """Ctrl-C and a request to end stop the dialogues; what is finished is kept."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        clients.stop(INTERRUPTED)
        for task in workers:
            task.cancel()

    caught: list[signal.Signals] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, end)
        except (NotImplementedError, RuntimeError, ValueError):  # not the main thread, or a system without
            continue
        caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
