"""The processes of tools with models, which may have to wait until it is known which GPUs there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentgauge.core.errors import UsageProblem
from tool_impls.server.call import Answer, Call, failure
from tool_impls.server.worker_pool import STOPPED, ProcessPool


class DevicePool:
    """A pool that ``make`` makes: at once, or at the first call, because to look for GPUs takes seconds.

    ``make`` raises UsageProblem for a device that is not there; later that is the answer to each call.
    """

    confinement = ""

    def __init__(self, make: Callable[[], ProcessPool], *, later: bool) -> None:
        self._make = make
        self._pool = None if later else make()
        self._making = asyncio.Lock()
        self._closed = False

    async def run(self, call: Call, seconds: float) -> Answer:
        pool = await self._made()
        return pool if isinstance(pool, Answer) else await pool.run(call, seconds)

    async def load(self, name: str) -> Answer:
        pool = await self._made()
        return pool if isinstance(pool, Answer) else await pool.load(name)

    async def close(self) -> None:
        self._closed = True
        async with self._making:
            if self._pool is not None:
                await self._pool.close()

    async def _made(self) -> ProcessPool | Answer:
        """The pool, or the answer to a call that it cannot take."""
        async with self._making:
            if self._pool is None and self._closed:
                return failure(*STOPPED)
            if self._pool is None:
                try:
                    self._pool = await asyncio.to_thread(self._make)
                except UsageProblem as problem:
                    return failure(500, str(problem))
            return self._pool
