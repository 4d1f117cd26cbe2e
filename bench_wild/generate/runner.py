"""Dialogues for every sequence: many at a time, failed ones again, until all is covered or a limit is reached."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from agentgauge.core.errors import Fault, ReplayMiss
from agentgauge.core.types import Usage
from agentgauge.run.progress import PLAIN_SECONDS, short_count
from bench_wild.generate.dialogue.clients import GeneratorClients, Open, Stopped
from bench_wild.generate.dialogue.dialogue_state import DialogueError, new_state
from bench_wild.generate.dialogue.flow import play
from bench_wild.generate.ledger import FAILURES, Failed, Ledger
from bench_wild.generate.sequences import Tasks, name_of
from bench_wild.generate.settings import Settings

INTERRUPTED = "interrupted"

Tell = Callable[[str], None]


async def generate(settings: Settings, ledger: Ledger, tell: Tell, open_model: Open) -> tuple[str, Usage]:
    """Attempt every sequence that is not done. Returns why it ended early (a budget, ``interrupted``; empty: it did
    not) and the usage.

    Raises UsageProblem for an unusable key, and OSError where nothing can be written.
    """
    clients = GeneratorClients(settings, open_model)
    todo = [sequence for sequence in settings.sequences if name_of(sequence) not in ledger.done]
    queue = iter(todo)
    progress = _Progress(len(todo), tell, clients)

    async def worker() -> None:
        for sequence in queue:
            await _cover(sequence, settings, ledger, clients, progress)

    workers = [asyncio.ensure_future(worker()) for _ in range(min(settings.in_flight, len(todo)))]
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
    sequence: Tasks, settings: Settings, ledger: Ledger, clients: GeneratorClients, progress: _Progress
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
            ledger.note(Failed(name, attempt, miss.cause, str(miss)))  # nothing was tried, so it is not written down
            return  # a further attempt cannot be in the cassette either
        except (DialogueError, Fault) as failure:
            failed = Failed(name, attempt, failure.cause, _on_one_line(str(failure)), tuple(replies))
            ledger.fail(failed)
            progress.failed(failed)
        else:
            ledger.add(dialogue, state.kept)
            progress.done()
            return


def _on_one_line(text: str) -> str:
    """A message as one line: the names in it are a model's, and must steer neither the table nor the terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


class _Progress:
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

    def failed(self, failed: Failed) -> None:
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
