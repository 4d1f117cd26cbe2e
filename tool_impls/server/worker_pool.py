"""Worker processes, seen from the server: it starts them, sends calls, kills hanging processes and replaces ended ones.

Neither pebble nor loky does this: their workers run one task at a time (here the calls of several threads become one
batch of a model), take the server's environment with its keys or one for all, and do not end the programs that a
timed-out task has started. See "Decisions" in docs/architecture.md.
"""

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
from typing import Any

from agentgauge.core.processes import PARENT
from tool_impls.server.calls import CallAnswer, QueuedCall, failure
from tool_impls.server.worker import HEAD, LOST, WorkerSpec, environment, pack

LOAD_SECONDS = 900.0  # for a tool's models to load, before its first call
READ_AHEAD = 8 * 2**20  # bytes of answers that are buffered; asyncio's preset of 64 KB costs a picture milliseconds
STOPPED = (503, "the tool server is being stopped")

ATTEMPTS = 3  # how often a call is sent to a worker process that ends through no fault of the call


class ProcessPool:
    """Worker processes for some tools, each started at its first call. ``concurrency``: calls of a tool in one process.
    A process has the tools of its spec: a call goes to one of those that have its tool.

    A call that takes too long is answered 408 and its process killed. The other calls of a process that dies are run
    again. A call that it was executing is run again alone in a new process; if that one dies too, the call is answered
    400, or 500 where the process has lost its GPU. ``forgiven``: how many processes may end while they execute a call
    before it is run alone; 1 for tools with models, because many calls are then executed at a time, and a process for
    one call alone loads the models once more. After ``close`` no process is started, and calls are answered 503.
    ``observe`` is called with the sizes of batches, ``restarted`` when a process has ended that the next call replaces.
    ``confinement``: the layers that confine the processes to the files of their calls, or why there are none; empty for
    tools without confinement.
    """

    def __init__(
        self,
        specs: Sequence[WorkerSpec],
        concurrency: Mapping[str, int],
        *,
        forgiven: int = 0,
        observe: Callable[[int], None] = lambda size: None,
        restarted: Callable[[], None] = lambda: None,
    ) -> None:
        self.confinement = "begins with the first call" if any(spec.confined for spec in specs) else ""
        self.observe = observe
        self._workers = [_PoolWorker(spec, self, restarted) for spec in specs]
        self._concurrency = concurrency
        self._forgiven = forgiven
        self._single = asyncio.Lock()
        self._single_worker: _PoolWorker | None = None  # of the call that is run alone
        self._closed = False

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        """The answer. At most ``concurrency`` × processes with its tool calls of a tool may be here at a time."""
        left = self._forgiven
        worker = None
        for _ in range(ATTEMPTS):
            worker = self._choose(call.tool, after=worker)
            try:
                return await worker.run(call, seconds)
            except _ProcessEnded as ended:
                if self._closed:
                    return failure(*STOPPED)
                if not ended.innocent:
                    if not left:
                        break
                    left -= ended.begun
        return await self._run_alone(call, seconds, self._choose(call.tool, after=worker).spec)

    async def load(self, name: str) -> CallAnswer:
        """Load a tool's models in every process. The first failure, or status 200."""
        answers = await asyncio.gather(*(worker.load(name) for worker in self._with(name)))
        return next((answer for answer in answers if answer.status != 200), answers[0])

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(worker.close() for worker in (*self._workers, self._single_worker) if worker))

    def _with(self, tool: str) -> list[_PoolWorker]:
        return [worker for worker in self._workers if tool in worker.spec.tools]

    def _choose(self, tool: str, after: _PoolWorker | None) -> _PoolWorker:
        """``after``: the one whose process ended in the middle of the call; its device may be the reason."""
        there = self._with(tool)
        free = [worker for worker in there if worker.calls[tool] < self._concurrency[tool]]
        return min(free or there, key=lambda worker: (worker is after, worker.calls[tool], worker.calls.total()))

    async def _run_alone(self, call: QueuedCall, seconds: float, spec: WorkerSpec) -> CallAnswer:
        async with self._single:
            if self._closed:
                return failure(*STOPPED)
            own = replace(spec, tools=(call.tool,))
            worker = self._single_worker = _PoolWorker(own, self, restarted=lambda: None)
            try:
                return await worker.run(call, seconds)
            except _ProcessEnded as ended:
                if self._closed:
                    return failure(*STOPPED)
                if ended.lost:
                    why = f"its processes ended, the last one because it lost its device {spec.device} ({ended.lost})"
                    return failure(500, f"{call.tool}: {why}; see the driver's messages, or name another device")
                if ended.begun:
                    reason = f"{call.tool} ended its process with these arguments, twice ({ended})"
                    return failure(400, f"ToolError('{reason}')")
                reason = f"the process of {call.tool} ended before the call began ({ended}); see the server's log"
                return failure(500, reason)
            finally:
                await worker.close()
                self._single_worker = None


class _ProcessEnded(Exception):
    """No answer came. ``innocent``: the process ended because of another call. ``begun``: while this one worked.
    ``lost``: what a library said of the GPU that the process lost, empty for another end."""

    def __init__(self, how: str, *, innocent: bool, begun: bool, lost: str = "") -> None:
        super().__init__(how)
        self.innocent = innocent
        self.begun = begun
        self.lost = lost


@dataclass(slots=True)
class _Pending:
    """A call that a process has not answered yet."""

    answer: asyncio.Future[CallAnswer]
    begun: bool = False  # the work has started
    on_loaded: Callable[[], None] = lambda: None
    on_begun: Callable[[], None] = lambda: None


class _WorkerProcess:
    """One running process, the calls that were sent to it, and why it ends."""

    def __init__(self, process: asyncio.subprocess.Process, pool: ProcessPool, ended: Callable[[], None]) -> None:
        self.pending: dict[int, _Pending] = {}
        self._process, self._pool, self._ended = process, pool, ended
        self._killed = False
        self._lost = ""
        self._reader = asyncio.create_task(self._read())

    @property
    def alive(self) -> bool:
        return not self._killed and not self._reader.done()

    def add(self, number: int, pending: _Pending) -> None:
        """Raises _ProcessEnded where the process has ended already, because then the reader fails no further call."""
        if self._reader.done():
            raise _ProcessEnded(_how(self._process.returncode or 0), innocent=True, begun=False)
        self.pending[number] = pending

    async def send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it has just ended: the reader fails its calls
            self._process.stdin.write(message)
            await self._process.stdin.drain()

    def kill(self) -> None:
        """Kill the process and what it has started; the calls that are still in it are innocent."""
        self._killed = True
        if self._process.returncode is None:
            self._kill_session()

    def _kill_session(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # the process leads a session of its own

    async def close(self) -> None:
        self.kill()
        await self._reader

    async def _read(self) -> None:
        """Pass on answers until the process ends; then fail the calls that are still pending."""
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                lengths = HEAD.unpack(await stream.readexactly(HEAD.size))
                head = json.loads(await stream.readexactly(lengths[0]))
                self._pass_on(head, await stream.readexactly(lengths[1]))
        except asyncio.IncompleteReadError:
            pass  # the process has ended
        except Exception:  # it wrote something else than our messages, so none of its answers can be trusted
            logging.getLogger("agentgauge.tools").exception("a worker process breaks the protocol and is killed")
            self._kill_session()
        status = await self._process.wait()
        self._ended()
        lost = (self._lost or "no reason is known") if status == LOST else ""
        for pending in self.pending.values():
            if not pending.answer.done():
                ended = _ProcessEnded(_how(status), innocent=self._killed, begun=pending.begun, lost=lost)
                pending.answer.set_exception(ended)

    def _pass_on(self, head: Mapping[str, Any], body: bytes) -> None:
        if "confinement" in head:
            self._pool.confinement = head["confinement"]
            return
        if "lost" in head:
            self._lost = head["lost"]
            return
        for size in head.get("batches", ()):
            self._pool.observe(size)
        pending = self.pending.get(head["id"])
        if pending is None or pending.answer.done():
            return  # it was timed out
        if head.get("loaded"):
            pending.on_loaded()
        elif head.get("begun"):
            pending.begun = True
            pending.on_begun()
        else:
            answer = CallAnswer(head["status"], body, tuple(head["names"]), head["raw"], head["note"])
            pending.answer.set_result(answer)


class _PoolWorker:
    """One worker of a pool. Its process is started when it is needed, and again after it ended."""

    def __init__(self, spec: WorkerSpec, pool: ProcessPool, restarted: Callable[[], None]) -> None:
        self.spec = spec
        self.calls: Counter[str] = Counter()  # in the process now, by tool
        self._pool = pool
        self._restarted = restarted
        self._starting = asyncio.Lock()
        self._process: _WorkerProcess | None = None
        self._closed = False
        self._numbers = count(1)

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        """Raises _ProcessEnded where the process ended before it answered."""
        return await self._ask(call.tool, asdict(call), seconds)

    async def load(self, name: str) -> CallAnswer:
        """Raises nothing: a process that ends while it loads is a failure."""
        try:
            return await self._ask(name, {"load": name}, LOAD_SECONDS)
        except _ProcessEnded as ended:
            why = f"lost its device {self.spec.device}: {ended.lost}" if ended.lost else str(ended)
            return failure(500, f"the process of {name} ended while it loaded ({why})")

    async def close(self) -> None:
        """Kill the process, whatever it is doing, and start no other."""
        self._closed = True
        async with self._starting:
            if self._process is not None:
                await self._process.close()

    async def _ask(self, tool: str, message: Mapping[str, Any], seconds: float) -> CallAnswer:
        """The answer, or 408 after ``seconds`` of work. The time to start, to load models and to wait for other calls
        in the process does not count."""
        pending = _Pending(asyncio.get_running_loop().create_future())
        number = next(self._numbers)
        process: _WorkerProcess | None = None
        self.calls[tool] += 1
        try:
            async with asyncio.timeout(LOAD_SECONDS) as limit:
                pending.on_loaded = lambda: limit.reschedule(None)
                pending.on_begun = lambda: limit.reschedule(asyncio.get_running_loop().time() + seconds)
                process = await self._running_process()
                process.add(number, pending)
                await process.send(pack({"id": number, **message}))
                return await asyncio.shield(pending.answer)
        except TimeoutError:
            pending.answer.cancel()
            if process is not None:
                process.kill()
            if not pending.begun:
                return failure(500, f"the models of {tool} did not load within {LOAD_SECONDS:g} s")
            return failure(408, f"ToolTimeout('{tool} did not finish within {seconds:g} s and was ended')")
        finally:
            self.calls[tool] -= 1
            if process is not None:
                process.pending.pop(number, None)

    def _has_ended(self) -> None:
        if not self._closed:
            self._restarted()

    async def _running_process(self) -> _WorkerProcess:
        async with self._starting:
            if self._closed:
                raise _ProcessEnded("its server is being stopped", innocent=True, begun=False)
            if self._process is None or not self._process.alive:
                threads = {"OMP_NUM_THREADS": str(self.spec.threads)} if self.spec.threads else {}
                started = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *("-m", "tool_impls.server.worker"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    env={**threads, **environment(self.spec.settings, self.spec.tools), PARENT: str(os.getpid())},
                    start_new_session=True,  # Ctrl-C is the server's to handle
                    limit=READ_AHEAD,
                )
                self._process = _WorkerProcess(started, self._pool, self._has_ended)
                spec = pickle.dumps(self.spec)
                await self._process.send(HEAD.pack(len(spec), 0) + spec)
            return self._process


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
