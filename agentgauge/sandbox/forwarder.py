"""Forwards connections of a program that has a network of its own to ports of this machine.

The sandbox listens inside and sends the listening sockets; this side accepts, connects to the same port of 127.0.0.1
here, and copies bytes in both directions. The program can reach only these ports.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence

from agentgauge.core.files import raise_file_limit
from agentgauge.core.processes import accepted

MOST_CONNECTIONS = 64
"""Connections of one program at a time; further ones wait until one of them ends."""
_FILES = 3  # of a connection: two here, and one of the server that it leads to, which may be in this process
_OTHER_FILES = 1024
_CHUNK = 1 << 16


def allow_connections(programs: int) -> None:
    """Raise this process's limit of open files, as far as the hard limit allows, so that these programs cannot use it
    up."""
    raise_file_limit(_OTHER_FILES + programs * _FILES * MOST_CONNECTIONS)


class Forwarder:
    """Forwards from the arrival of the sockets until ``close``, in its own thread."""

    def __init__(self, arriving: socket.socket, ports: Sequence[int]) -> None:
        """``arriving``: where the sandbox sends the sockets, in the order of ``ports``."""
        self._arriving = arriving
        self._ports = ports
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="agentgauge-forwarder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all connections. The program's processes have ended, or end without them."""
        with contextlib.suppress(OSError):
            self._arriving.shutdown(socket.SHUT_RDWR)  # wakes the thread, if no sockets have come
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._arriving.close()
        self._loop.close()

    def _run(self) -> None:
        _, numbers, *_ = socket.recv_fds(self._arriving, 1, len(self._ports))
        listening = [socket.socket(fileno=number) for number in numbers]
        self._loop.run_until_complete(self._serve(listening))

    async def _serve(self, listening: Sequence[socket.socket]) -> None:
        free = asyncio.Semaphore(MOST_CONNECTIONS)
        waiting = [  # for connections; none, where the sandbox has ended
            asyncio.create_task(self._accept(port, opened, free))
            for port, opened in zip(self._ports, listening, strict=False)
        ]
        await self._stop.wait()
        tasks = [*waiting, *self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for opened in listening:
            opened.close()

    async def _accept(self, port: int, listening: socket.socket, free: asyncio.Semaphore) -> None:
        async for connection, _ in accepted(listening, free.acquire):
            task = asyncio.create_task(_forward(connection, port))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            task.add_done_callback(lambda _: free.release())


async def _forward(connection: socket.socket, port: int) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    with contextlib.closing(writer), contextlib.suppress(OSError):  # either side may end it at any time
        await _connect(port, reader, writer)


async def _connect(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy(reader, there_writer))
            both.create_task(_copy(there_reader, writer))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        there_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(_CHUNK):
        writer.write(part)
        await writer.drain()
    writer.write_eof()
