"""Work that a signal ends, cleaned up, so that the same command can go on later."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPTED = 130  # exit status


def until_signal(work: Coroutine[Any, Any, T]) -> T | None:
    """Run to the end. Returns None, with a message to the user, if Ctrl-C, SIGTERM or a closed terminal ended it first;
    running work is cancelled and cleaned up."""

    async def watched() -> T:
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        # under nohup, SIGHUP is ignored, and stays so
        handled = [name for name in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(name) != signal.SIG_IGN]
        for name in handled:
            loop.add_signal_handler(name, task.cancel)
        try:
            return await work
        finally:
            for name in handled:
                loop.remove_signal_handler(name)

    try:
        return asyncio.run(watched())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("interrupted; the same command continues", file=sys.stderr)
        return None
