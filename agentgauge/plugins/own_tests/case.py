"""The cases of a project's own tests in one process. The fixtures' objects last for a run; each request belongs to the
test that is running when the request is made, and to the run where no test is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from agentgauge.core.case import Case
from agentgauge.core.errors import AgentGaugeError, Fault
from agentgauge.core.index import Row
from agentgauge.core.types import Json
from agentgauge.run.clients import Endpoint
from agentgauge.run.planned import Planned
from agentgauge.run.runner import Runner

Result = TypeVar("Result")
Work = Callable[[Case], Coroutine[Any, Any, Result]]
"""Sends requests for a case."""

OUTSIDE = "outside any test"
"""The name of the sample of requests that are made while no test runs."""


@dataclass(slots=True, eq=False)
class OwnCase:
    """The case of a test that runs, or of requests outside any test."""

    planned: Planned
    case: Case | None = None  # made in the event loop, at the first request or for the record
    fault: Fault | None = None  # the first that a program got as an answer of ``model_endpoint``
    is_open: bool = True  # the test is running: its record will hold the requests


class OwnCases:
    """``test`` is the case of the test that pytest runs, ``None`` between tests. pytest's thread calls ``open``,
    ``close``, ``drop`` and ``outside``; any thread may call the rest.
    """

    def __init__(
        self,
        runner: Runner,
        submit: Callable[[Coroutine[Any, Any, Any]], Future[Any]],
        root: Path,
        outside: Planned,
    ) -> None:
        """``submit`` runs a coroutine in the run's event loop. ``root``: the project's folder. ``outside``: the case of
        requests outside any test."""
        self.test: OwnCase | None = None
        self._runner = runner
        self._submit = submit
        self._root = root
        self._outside = OwnCase(outside, is_open=False)
        self._shared = 0  # fixtures of several tests that are set up or torn down now
        self.at_end: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """Called when the run ends, in its event loop."""
        self._has_ended = False

    # -- the tests

    def open(self, planned: Planned) -> OwnCase:
        """Begin a test, or a further attempt at it."""
        self.drop()
        self.test = OwnCase(planned)
        return self.test

    def close(self, output: Json, fault: Fault | None, seconds: float) -> None:
        """Store the record of the test, if one has begun. Raises OSError."""
        test, self.test = self.test, None
        if test is None:
            return

        async def closed() -> None:
            test.is_open = False
            case = await self._case_of(test)
            await self._runner.close_case(test.planned, case, output, fault, seconds)
            case.drain()

        self._submit(closed()).result()

    def drop(self) -> None:
        """End a test that leaves no record: what it has used belongs to the run."""
        test, self.test = self.test, None
        if test is not None:
            test.is_open = False
            if test.case is not None:
                self._submit(self._to_run(test)).result()

    def end(self) -> None:
        """End the run: no request is sent after it."""
        self.drop()
        for work in self.at_end:
            self._submit(work()).result()
        self._has_ended = True

    @contextmanager
    def outside(self) -> Iterator[None]:
        """While a fixture of several tests is set up, requests belong to the run."""
        self.leave_test()
        try:
            yield
        finally:
            self.return_to_test()

    def leave_test(self) -> None:
        self._shared += 1

    def return_to_test(self) -> None:
        self._shared -= 1

    def tool_server(self) -> Endpoint:
        """The address of the run's tool server. Raises UsageProblem if it has none."""
        return self._runner.tool_server(self._outside.planned.task.name)

    # -- requests

    def give(self, work: Work[Result]) -> Result | Coroutine[Any, Any, Result]:
        """The result of the work; for code in a task of asyncio, a coroutine that returns the result."""
        __tracebackhide__ = True
        counted = self.counted(work)
        return self._later(counted) if _in_task() else self.run(counted)

    def wait(self, work: Work[Result]) -> Result:
        """The result of the work."""
        __tracebackhide__ = True
        return self.run(self.counted(work))

    def counted(self, work: Work[Result]) -> Coroutine[Any, Any, Result]:
        """The work for the case that is current at this call. To be run in the run's event loop."""
        return self._counted(None if self._shared else self.test, work)

    def note(self, case: Case, fault: Fault) -> None:
        """Remember a fault that a program got as an answer."""
        if (test := self.test) is not None and test.case is case:
            test.fault = test.fault or fault

    def _submitted(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Raises Fault at the end of the run."""
        __tracebackhide__ = True
        if self._has_ended:
            work.close()
            raise Fault("the run has ended: its model and tools are no longer available", cause="no services")
        return self._submit(work)

    async def _counted(self, test: OwnCase | None, work: Work[Result]) -> Result:
        __tracebackhide__ = True
        own = test or self._outside
        try:
            return await work(await self._case_of(own))
        finally:
            if not own.is_open:  # perhaps since the request was sent: a thread went on after its test
                await self._to_run(own)

    async def _case_of(self, own: OwnCase) -> Case:
        if own.case is None:
            own.case = await self._runner.open_case(own.planned, self._root)
        return own.case

    async def _to_run(self, own: OwnCase) -> None:
        if own.case is not None and own.case.events:
            self._runner.store_outside(own.case)

    async def _later(self, work: Coroutine[Any, Any, Result]) -> Result:
        __tracebackhide__ = True
        try:
            return await asyncio.wrap_future(self._submitted(work))
        except (AgentGaugeError, FileNotFoundError) as error:
            raise error.with_traceback(None) from None  # its sentence says all; our frames would hide the test's line

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of a coroutine that runs in the run's event loop."""
        __tracebackhide__ = True
        future: Future[Result] = self._submitted(work)
        try:
            return future.result()
        except (AgentGaugeError, FileNotFoundError) as error:
            raise error.with_traceback(None) from None
        except BaseException as error:
            if future.done():
                raise
            future.cancel()  # Ctrl-C, or a time-out of the test's own: where it waited says nothing
            raise error.with_traceback(None) from None


def planned_outside(test: Planned, worker: int) -> Planned:
    """The case of a worker's requests outside any test. ``test``: one of its tests, with tools if one has them."""
    return replace(test, row=Row(OUTSIDE, (), 0), attempt=worker + 1)


def _in_task() -> bool:
    """Whether the caller can await. A running loop alone says nothing: Playwright's synchronous side has one."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False
