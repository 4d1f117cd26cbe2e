"""The server's side of its worker processes: starting them, giving them calls, ending those that hang, replacing
those that die."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, Protocol

from agentgauge.core.service_process import PARENT
from tool_impls.server.call import Answer, Order, failure
from tool_impls.server.confinement import environment
from tool_impls.server.worker import HEAD, Start, pack

LOAD_SECONDS = 900.0
"""For a tool's models to load, before its first call."""

READ_AHEAD = 8 * 2**20
"""Bytes of answers that are taken from a worker before somebody asks for them; the preset of 64 KB costs a picture
milliseconds."""

STOPPED = (503, "the tool server is being stopped")

TRIES = 3
"""Times that a call is given to a process which ends through no doing of the call."""


class Crew(Protocol):
    """Whoever works on calls: processes, or in tests threads."""

    confinement: str
    """What confines the processes to the files of their calls, or why nothing does; empty where nothing is to."""

    async def run(self, order: Order, seconds: float) -> Answer: ...

    async def load(self, name: str) -> Answer:
        """Load a tool's models wherever they are needed. The first failure, or status 200."""

    async def close(self) -> None: ...


class Processes:
    """Worker processes for some tools, each started at its first call. ``concurrency``: calls of a tool in one process.

    A call that takes too long is answered 408 and its process ended. A process that dies takes its calls with it; each
    is then done once more in a process of its own, one after the other. If that dies too, the call is to blame: it is
    answered
    400. Once it is closed no process is started: what is run is answered 503. ``observe`` is told the sizes of batches,
         ``restarted``
    that a process has ended, which is replaced when it is needed.
    """

    def __init__(
        self,
        starts: Sequence[Start],
        concurrency: Mapping[str, int],
        *,
        observe: Callable[[int], None] = lambda size: None,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        self.confinement = "begins with the first call" if any(start.confined for start in starts) else ""
        self._seats = [_Seat(start, observe, restarted, self._confined) for start in starts]
        self._concurrency = concurrency
        self._observe = observe
        self._alone = asyncio.Lock()
        self._seat_alone: _Seat | None = None  # of the call that has a process of its own
        self._closed = False

    async def run(self, order: Order, seconds: float) -> Answer:
        """The answer. At most ``concurrency`` × processes calls of a tool may be here at a time."""
        for _ in range(TRIES):
            seat = self._choose(order.tool)
            try:
                return await seat.run(order, seconds)
            except _Ended as ended:
                if self._closed:
                    return failure(*STOPPED)
                if not ended.innocent:
                    break
        return await self._run_alone(order, seconds)

    async def load(self, name: str) -> Answer:
        answers = await asyncio.gather(*(seat.load(name) for seat in self._seats))
        return next((answer for answer in answers if answer.status != 200), answers[0])

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(seat.close() for seat in (*self._seats, self._seat_alone) if seat))

    def _confined(self, how: str) -> None:
        self.confinement = how

    def _choose(self, tool: str) -> _Seat:
        free = [seat for seat in self._seats if seat.calls[tool] < self._concurrency[tool]]
        return min(free or self._seats, key=lambda seat: (seat.calls[tool], seat.calls.total()))

    async def _run_alone(self, order: Order, seconds: float) -> Answer:
        async with self._alone:
            if self._closed:
                return failure(*STOPPED)
            start = replace(self._seats[0].start, tools=(order.tool,))
            seat = self._seat_alone = _Seat(start, self._observe, lambda: None, self._confined)
            try:
                return await seat.run(order, seconds)
            except _Ended as ended:
                if self._closed:
                    return failure(*STOPPED)
                if not ended.begun:  # it did not even get to the arguments
                    return failure(
                        500, f"the process of {order.tool} ended before the call began ({ended}); see the server's log"
                    )
                return failure(
                    400, f"ToolError('{order.tool} ended its process with these arguments, twice ({ended})')"
                )
            finally:
                await seat.close()
                self._seat_alone = None


class _Ended(Exception):
    """The process ended before it answered. ``innocent``: because of another call. ``begun``: while this one was at
    work."""

    def __init__(self, how: str, *, innocent: bool, begun: bool) -> None:
        super().__init__(how)
        self.innocent = innocent
        self.begun = begun


@dataclass(slots=True)
class _Call:
    answer: asyncio.Future[Answer]
    begun: bool = False  # its models are loaded, the work has started
    begin: Callable[[], None] = lambda: None


class _Worker:
    """One process, the calls that were sent to it, and why it ends."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        observe: Callable[[int], None],
        ended: Callable[[], None],
        confined: Callable[[str], None],
    ) -> None:
        self.calls: dict[int, _Call] = {}
        self._process = process
        self._observe = observe
        self._confined = confined
        self._ended = ended
        self._ended_by_us = False
        self._reader = asyncio.create_task(self._listen())

    @property
    def alive(self) -> bool:
        return not self._ended_by_us and not self._reader.done()

    def take(self, number: int, call: _Call) -> None:
        """Raises _Ended where the process was ended before it got any call: nobody would tell this one."""
        if self._reader.done():
            raise _Ended(_how(self._process.returncode or 0), innocent=True, begun=False)
        self.calls[number] = call

    async def send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it has just ended: the reader says so
            self._process.stdin.write(message)
            await self._process.stdin.drain()

    def end(self) -> None:
        """End the process and what it has started; calls that are still in it are innocent."""
        self._ended_by_us = True
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session of its own

    async def close(self) -> None:
        self.end()
        await self._reader

    async def _listen(self) -> None:
        """Hand out answers until the process ends, then tell whoever still waits."""
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                lengths = HEAD.unpack(await stream.readexactly(HEAD.size))
                head = json.loads(await stream.readexactly(lengths[0]))
                self._hand_out(head, await stream.readexactly(lengths[1]))
        except asyncio.IncompleteReadError:
            pass  # it has ended
        except Exception:  # something else than our messages: nothing that it says can be relied on
            logging.getLogger("agentgauge.tools").exception(
                "a worker process does not keep to the protocol and is ended"
            )
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        status = await self._process.wait()
        self._ended()
        for call in self.calls.values():
            if not call.answer.done():
                call.answer.set_exception(_Ended(_how(status), innocent=self._ended_by_us, begun=call.begun))

    def _hand_out(self, head: Mapping[str, Any], body: bytes) -> None:
        if "confinement" in head:
            self._confined(head["confinement"])
            return
        for size in head.get("batches", ()):
            self._observe(size)
        call = self.calls.get(head["id"])
        if call is None or call.answer.done():
            return  # its time was over
        if head.get("begun"):
            call.begun = True
            call.begin()
        else:
            call.answer.set_result(Answer(head["status"], body, tuple(head["names"]), head["raw"]))


class _Seat:
    """A place for one worker process, which is started when it is needed and again after it ended."""

    def __init__(
        self, start: Start, observe: Callable[[int], None], ended: Callable[[], None], confined: Callable[[str], None]
    ) -> None:
        self.start = start
        self._confined = confined
        self.calls: Counter[str] = Counter()  # calls in the process, by tool
        self._observe = observe
        self._ended = ended
        self._starting = asyncio.Lock()
        self._worker: _Worker | None = None
        self._closed = False
        self._numbers = count(1)

    async def run(self, order: Order, seconds: float) -> Answer:
        """Raises _Ended where the process ended before it answered."""
        return await self._ask(order.tool, asdict(order), seconds)

    async def load(self, name: str) -> Answer:
        """Raises nothing: a process that ends while it loads is a failure."""
        try:
            return await self._ask(name, {"load": name}, LOAD_SECONDS)
        except _Ended as ended:
            return failure(500, f"the process of {name} ended while it loaded ({ended})")

    async def close(self) -> None:
        """End the process, in the middle of whatever it does, and start none any more."""
        self._closed = True
        async with self._starting:
            if self._worker is not None:
                await self._worker.close()

    async def _ask(self, tool: str, message: Mapping[str, Any], seconds: float) -> Answer:
        """The answer, or 408 after ``seconds`` of work. The time to start and to load models does not count."""
        call = _Call(asyncio.get_running_loop().create_future())
        number = next(self._numbers)
        worker: _Worker | None = None
        self.calls[tool] += 1
        try:
            async with asyncio.timeout(LOAD_SECONDS) as limit:
                call.begin = lambda: limit.reschedule(asyncio.get_running_loop().time() + seconds)
                worker = await self._running()
                worker.take(number, call)
                await worker.send(pack({"id": number, **message}))
                return await asyncio.shield(call.answer)
        except TimeoutError:
            call.answer.cancel()
            if worker is not None:
                worker.end()
            if not call.begun:
                return failure(500, f"the models of {tool} did not load within {LOAD_SECONDS:g} s")
            return failure(408, f"ToolTimeout('{tool} did not finish within {seconds:g} s and was ended')")
        finally:
            self.calls[tool] -= 1
            if worker is not None:
                worker.calls.pop(number, None)

    def _has_ended(self) -> None:
        if not self._closed:
            self._ended()

    async def _running(self) -> _Worker:
        async with self._starting:
            if self._closed:
                raise _Ended("its server is being stopped", innocent=True, begun=False)
            if self._worker is None or not self._worker.alive:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-m", "tool_impls.server.worker"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    env={**environment(self.start.settings, self.start.tools), PARENT: str(os.getpid())},
                    start_new_session=True,  # Ctrl-C is the server's to handle
                    limit=READ_AHEAD,
                )
                self._worker = _Worker(process, self._observe, self._has_ended, self._confined)
                start = pickle.dumps(self.start)
                await self._worker.send(HEAD.pack(len(start), 0) + start)
            return self._worker


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
