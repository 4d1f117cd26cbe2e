"""The server's side of its worker processes: starting them, giving them calls, ending those that hang, replacing those that die."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from harness.services import PARENT
from tool_impls.work import Answer, Order, failure
from tool_impls.worker import HEAD, Start, pack

LOAD_SECONDS = 900.0
"""For a tool's models to load, before its first call."""

READ_AHEAD = 8 * 2**20
"""Bytes of answers that are taken from a worker before somebody asks for them; the preset of 64 KB costs a picture milliseconds."""

TRIES = 3
"""Times that a call is given to a process which ends through no doing of the call."""


class Crew(Protocol):
    """Whoever works on calls: processes, or in tests threads."""

    async def run(self, order: Order, seconds: float) -> Answer: ...

    async def load(self, name: str) -> Answer:
        """Load a tool's models wherever they are needed. The first failure, or status 200."""

    async def close(self) -> None: ...


class Processes:
    """Worker processes for some tools, each started at its first call. ``concurrency``: calls of a tool in one process.

    A call that takes too long is answered 408 and its process ended. A process that dies takes its calls with it; each is
    then done once more in a process of its own, one after the other. If that dies too, the call is to blame: it is answered
    400. ``observe`` is told the sizes of batches, ``restarted`` that a process was replaced.
    """

    def __init__(
        self,
        starts: Sequence[Start],
        concurrency: Mapping[str, int],
        *,
        observe: Callable[[int], None] = lambda size: None,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        self._seats = [_Seat(start, observe) for start in starts]
        self._concurrency = concurrency
        self._observe = observe
        self._restarted = restarted
        self._alone = asyncio.Lock()

    async def run(self, order: Order, seconds: float) -> Answer:
        """The answer. At most ``concurrency`` × processes calls of a tool may be here at a time."""
        for _ in range(TRIES):
            seat = self._choose(order.tool)
            try:
                return await seat.run(order, seconds)
            except _Ended as ended:
                self._restarted()
                if not ended.innocent:
                    break
        return await self._run_alone(order, seconds)

    async def load(self, name: str) -> Answer:
        answers = await asyncio.gather(*(seat.load(name) for seat in self._seats))
        return next((answer for answer in answers if answer.status != 200), answers[0])

    async def close(self) -> None:
        await asyncio.gather(*(seat.close() for seat in self._seats))

    def _choose(self, tool: str) -> _Seat:
        free = [seat for seat in self._seats if seat.calls[tool] < self._concurrency[tool]]
        return min(free or self._seats, key=lambda seat: (seat.calls[tool], seat.calls.total()))

    async def _run_alone(self, order: Order, seconds: float) -> Answer:
        async with self._alone:
            seat = _Seat(replace(self._seats[0]._start, tools=(order.tool,)), self._observe)
            try:
                return await seat.run(order, seconds)
            except _Ended as ended:
                return failure(400, f"ToolError('{order.tool} ended its process with these arguments, twice ({ended})')")
            finally:
                await seat.close()


class _Ended(Exception):
    """The process ended before it answered. ``innocent``: it was ended because of another call."""

    def __init__(self, how: str, *, innocent: bool) -> None:
        super().__init__(how)
        self.innocent = innocent


@dataclass(slots=True)
class _Call:
    tool: str
    answer: asyncio.Future[Answer]
    begun: bool = False  # its models are loaded, the work has started
    begin: Callable[[], None] = lambda: None


class _Seat:
    """A place for one worker process, which is started when it is needed and again after it ended."""

    def __init__(self, start: Start, observe: Callable[[int], None]) -> None:
        self.calls: Counter[str] = Counter()  # calls in the process, by tool
        self._start = start
        self._observe = observe
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._open: dict[int, _Call] = {}
        self._number = 0
        self._ended_by_us = False

    async def run(self, order: Order, seconds: float) -> Answer:
        """Raises _Ended where the process ended before it answered."""
        return await self._ask(order.tool, asdict(order), seconds)

    async def load(self, name: str) -> Answer:
        return await self._ask(name, {"load": name}, LOAD_SECONDS)

    async def close(self) -> None:
        """End the process, in the middle of whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._reader is not None:
            await self._reader

    async def _ask(self, tool: str, message: Mapping[str, Any], seconds: float) -> Answer:
        self.calls[tool] += 1
        number = self._number = self._number + 1
        try:
            process = await self._running()
            call = self._open[number] = _Call(tool, asyncio.get_running_loop().create_future())
            assert process.stdin is not None
            with suppress(ConnectionError):  # it has just ended: the reader says so
                process.stdin.write(pack({"id": number, **message}))
                await process.stdin.drain()
            return await self._wait(call, seconds)
        finally:
            self._open.pop(number, None)
            self.calls[tool] -= 1

    async def _wait(self, call: _Call, seconds: float) -> Answer:
        """The answer, or 408 after ``seconds`` of work. The time to load models does not count."""
        try:
            async with asyncio.timeout(LOAD_SECONDS) as limit:
                call.begin = lambda: limit.reschedule(asyncio.get_running_loop().time() + seconds)
                return await asyncio.shield(call.answer)
        except TimeoutError:
            call.answer.cancel()
            self._end()
            if not call.begun:
                return failure(500, f"the models of {call.tool} did not load within {LOAD_SECONDS:g} s")
            return failure(408, f"ToolTimeout('{call.tool} did not finish within {seconds:g} s and was ended')")

    def _end(self) -> None:
        """End the process because of one call; the others in it are done again elsewhere."""
        self._ended_by_us = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _running(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is not None and self._process.returncode is None and not self._ended_by_us:
                return self._process
            if self._reader is not None:
                await self._reader  # the calls of the one before are told first
            self._ended_by_us = False
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "tool_impls.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, PARENT: str(os.getpid())},
                start_new_session=True,  # Ctrl-C is the server's to handle
                limit=READ_AHEAD,
            )
            assert self._process.stdin is not None
            start = pickle.dumps(self._start)
            self._process.stdin.write(HEAD.pack(len(start), 0) + start)
            self._reader = asyncio.create_task(self._listen(self._process))
            return self._process

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Hand out answers until the process ends, then tell whoever still waits."""
        assert process.stdout is not None
        try:
            while True:
                lengths = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
                head = json.loads(await process.stdout.readexactly(lengths[0]))
                self._hand_out(head, await process.stdout.readexactly(lengths[1]))
        except asyncio.IncompleteReadError:
            status = await process.wait()
        for call in self._open.values():
            if not call.answer.done():
                call.answer.set_exception(_Ended(_how(status), innocent=self._ended_by_us))

    def _hand_out(self, head: Mapping[str, Any], body: bytes) -> None:
        for size in head.get("batches", ()):
            self._observe(size)
        call = self._open.get(head["id"])
        if call is None or call.answer.done():
            return  # its time was over
        if head.get("begun"):
            call.begun = True
            call.begin()
        else:
            call.answer.set_result(Answer(head["status"], body, tuple(head["names"]), head["raw"]))


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
