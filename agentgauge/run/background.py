"""A runner in a thread of its own, beside pytest, which walks through its tests one by one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from agentgauge.core.types import Record
from agentgauge.run.planned import OWN, Given, Planned
from agentgauge.run.runner import Runner
from agentgauge.store import Line

Value = TypeVar("Value")


class Background:
    """The event loop of a runner, in a background thread. All methods are called from pytest's thread."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="agentgauge-runner", daemon=True)
        self._thread.start()
        self._loop.call_soon_threadsafe(runner.start)

    def submit(self, cases: Iterable[Planned], given: Given = OWN) -> None:
        """Add cases to the end of the queue; those already in it stay where they are."""
        self._loop.call_soon_threadsafe(self._runner.submit, list(cases), given)

    def result(self, case: Planned, given: Given = OWN) -> Line | Record:
        """See ``Runner.result``."""
        if (found := self._runner.results.pop(case.id, None)) is None:
            return self.call(self._runner.result(case, given)).result()
        if isinstance(found, Exception):
            raise found
        return found

    def call(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        """Run a coroutine in the runner's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def hold(self) -> None:
        """Start no new case; running cases may end."""
        self._loop.call_soon_threadsafe(self._runner.hold)

    def is_idle(self) -> bool:
        """Whether no case runs, once ``hold`` was called."""
        return self._runner.is_idle

    def close(self) -> None:
        """Start no new case and cancel the running ones. What is finished has been stored already."""
        if not self._closed:
            self._closed = True
            try:
                self.call(self._runner.close()).result(timeout=30)
            except TimeoutError:
                return  # code of a benchmark does not return; its thread ends with the process
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=30)
            self._loop.close()

    def _run_loop(self) -> None:
        while True:
            try:
                self._loop.run_forever()
                return
            except (SystemExit, KeyboardInterrupt):
                pass  # raised by a benchmark's code in a task, which keeps it; asyncio ends the loop as well
