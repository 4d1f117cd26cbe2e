"""Real servers on loopback for tests: an aiohttp application, and raw sockets that answer with given bytes."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tool_impls.base import BenchTool
    from tool_impls.server.app import ToolServer
    from tool_impls.server.calls import CallAnswer, QueuedCall


@contextmanager
def background(start: Callable[[asyncio.Event], Coroutine[Any, Any, None]]) -> Iterator[None]:
    """Run a coroutine in a thread of its own; it sets the event it is given when ready, and is cancelled at the end."""
    ready = threading.Event()
    state: dict[str, Any] = {}

    async def main() -> None:
        event = asyncio.Event()
        task = asyncio.create_task(start(event))
        state["loop"], state["task"] = asyncio.get_running_loop(), task
        waiter = asyncio.create_task(event.wait())
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        ready.set()
        try:
            await task
        except asyncio.CancelledError:
            for _ in range(5):  # a connection may just be coming in, and closed ones let go in the loop's next rounds
                others = asyncio.all_tasks() - {asyncio.current_task()}
                for other in others:
                    other.cancel()
                await asyncio.gather(*others, return_exceptions=True)
                await asyncio.sleep(0)

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    assert ready.wait(10), "the server did not start"
    try:
        yield
    finally:
        state["loop"].call_soon_threadsafe(state["task"].cancel)
        thread.join(10)
        assert not thread.is_alive()


@contextmanager
def web_server(make_application: Callable[[], Any]) -> Iterator[str]:
    """Serve an aiohttp application; gives its address. It is made inside the server's own loop."""
    from agentgauge.core.web_server import bind, served

    address: list[str] = []

    async def start(ready: asyncio.Event) -> None:
        async with served(make_application(), bind("127.0.0.1", 0), shutdown_seconds=0.5) as port:
            address.append(f"http://127.0.0.1:{port}")
            ready.set()
            await asyncio.Event().wait()

    with background(start):
        yield address[0]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Last(bytes):
    """An answer after which the connection is closed."""


Answer = bytes | Callable[[Request], bytes]


@dataclass
class Canned:
    """A socket server that keeps what it was asked. ``answers[path]`` are used up in turn, the last one stays."""

    answers: dict[str, list[Answer]]
    requests: list[Request] = field(default_factory=list)
    url: str = ""


def http(
    status: int, body: bytes | str | object = b"", reason: str = "", headers: str = "", kind: str = "application/json"
) -> bytes:
    """The bytes of an answer; anything but bytes and text is written as JSON."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    head = (
        f"HTTP/1.1 {status} {reason or 'Reason'}\r\nContent-Type: {kind}\r\nContent-Length:"
        f" {len(data)}\r\n{headers}\r\n"
    )
    return head.encode() + data


@contextmanager
def canned_server(answers: dict[str, list[Answer]]) -> Iterator[Canned]:
    """An empty answer means: close the connection without a word."""
    canned = Canned(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                headers = {}
                while (header := (await reader.readline()).decode().strip()) != "":
                    name, _, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                request = Request(method, path, headers, body)
                canned.requests.append(request)
                queue = canned.answers.get(path, [http(404)])
                answer = queue.pop(0) if len(queue) > 1 else queue[0]
                data = answer(request) if callable(answer) else answer
                writer.write(data)
                await writer.drain()
                if not data or isinstance(data, Last):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        except asyncio.CancelledError:  # the end of the test: nobody waits for what is not sent yet
            writer.transport.abort()
        finally:
            writer.close()

    async def start(ready: asyncio.Event) -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        canned.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            ready.set()
            await server.serve_forever()

    with background(start):
        yield canned


class Threads:
    """A worker pool of threads of this process, so that tests can use tools which are made on the spot."""

    confinement = ""

    def __init__(self, tools: Sequence[BenchTool], root: Path | None = None) -> None:
        from tool_impls.server.calls import ToolRunner

        self._runner = ToolRunner(tools, root=root)

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        return await asyncio.to_thread(self._runner.run, call, lambda: None)

    async def load(self, name: str) -> CallAnswer:
        from tool_impls.server.calls import CallAnswer

        await asyncio.to_thread(self._runner.load, name)
        return CallAnswer(200, b"true")

    async def close(self) -> None:
        """Threads end by themselves."""


def threaded(
    tools: Sequence[BenchTool],
    states: Mapping[str, str] | None = None,
    *,
    queue: int = 256,
    root: Path | None = None,
    told: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> ToolServer:
    """A tool server whose tools run in threads of this process. ``states``: of tools that are not ready. ``told``: what
    identifies each of them, beside its name."""
    from tool_impls.server.app import ToolQueue, ToolServer
    from tool_impls.server.execution import ToolMetrics

    scratch = Path(tempfile.mkdtemp(prefix="agentgauge-tools-"))
    pool = Threads(tools, root)
    queues = [
        ToolQueue(
            tool.meta,
            (states or {}).get(tool.meta.name, "ready"),
            pool,
            slots=tool.concurrency,
            limit=queue,
            seconds=60,
        )
        for tool in tools
    ]
    identities = {tool.meta.name: {"state": "ready", **told} for tool in tools}
    return ToolServer(queues, ToolMetrics(), scratch, **{"fingerprints": lambda: identities, **options})


@contextmanager
def in_front(*addresses: str, names: Sequence[str] | None = None) -> Iterator[str]:
    """A tool server of this process in front of replicas; gives its address."""
    from tool_impls.server.app import running
    from tool_impls.server.replicas import front
    from tool_impls.server.requests import WITHOUT_TOKEN

    address: list[str] = []

    async def start(ready: asyncio.Event) -> None:
        async with running(await front(addresses, names, WITHOUT_TOKEN), ("127.0.0.1", 0)) as port:
            address.append(f"http://127.0.0.1:{port}")
            ready.set()
            await asyncio.Event().wait()

    with background(start):
        yield address[0]
