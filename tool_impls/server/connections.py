"""Connections of the tool server: aiohttp's, with a deadline for headers and short answers to requests that are no
HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import socket

from aiohttp import web

from agentgauge.core.service_process import BACKLOG

HEADER_SECONDS = 60.0  # for the headers of a request to arrive, and for a connection to lie idle


class Connection(web.RequestHandler):
    __slots__ = ()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a request that cannot be parsed by one sentence in the protocol's form; write nothing to the log."""
        if status != 400:
            return super().handle_error(request, status, exc, message)
        first = (message or "it is malformed").strip().splitlines()[0].rstrip(":.")
        response = web.json_response({"detail": f"the request cannot be read as HTTP: {first}"}, status=400)
        response.force_close()
        return response


async def listen(runner: web.AppRunner, where: socket.socket | tuple[str, int]) -> asyncio.Server:
    """Serve a runner's application on a listening socket, or on a host and port. Raises OSError."""
    loop = asyncio.get_running_loop()

    def connection() -> Connection:
        assert runner.server is not None, "the runner is to be set up first"
        return Connection(
            runner.server,
            loop=loop,
            access_log=logging.getLogger("agentgauge.tools"),  # not written: its level is that of warnings
            keepalive_timeout=HEADER_SECONDS,
            lingering_time=0,  # what is left of a refused body is read by us, to a bound in bytes
            auto_decompress=False,  # as in the original; so 64 MB on the wire are 64 MB here
        )

    if isinstance(where, socket.socket):
        return await loop.create_server(connection, sock=where, backlog=BACKLOG)
    return await loop.create_server(connection, *where, reuse_address=True, backlog=BACKLOG)
