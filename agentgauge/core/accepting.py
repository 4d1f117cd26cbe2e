"""Accepts connections so that neither a peer that hangs up nor a lack of files ends a server or floods its log."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

_RETRY = 0.1  # seconds after which a connection that could not be accepted is tried again


async def accepted(
    listening: socket.socket, room: Callable[[], Awaitable[object]], make_room: Callable[[], object] = lambda: None
) -> AsyncIterator[tuple[socket.socket, Any]]:
    """The connections that arrive at a listening socket, with their peers' addresses.

    ``room`` is awaited before each one. ``make_room`` is called where the process has too many files open to accept
    one, which is then tried again.
    """
    loop = asyncio.get_running_loop()
    listening.setblocking(False)
    while True:
        await room()
        while True:
            try:
                found = await loop.sock_accept(listening)
                break
            except ConnectionError:  # the peer has ended it
                continue
            except OSError:
                make_room()
                await asyncio.sleep(_RETRY)
        yield found
