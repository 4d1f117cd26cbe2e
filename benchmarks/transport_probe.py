"""What requests cost through one client, in a process of its own: ``python -m benchmarks.transport_probe lean URL 1024
128``.

Prints one line of JSON: CPU and wall of the requests in seconds, CPU and memory (MB) of what the first request imports.
``http2`` needs ``h2``, and a server of its own: ``python -m benchmarks.transport_probe serve-http2 0.2``.
"""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

Ask = Callable[[int], Awaitable[str]]
Opened = tuple[Ask, Callable[[], Awaitable[None]]]
COMPLETION = """{"choices": [{"message": {"role": "assistant", "content": %s}, "finish_reason": "stop"}],
"usage": {"prompt_tokens": 300, "completion_tokens": 5}}"""
HISTORY = [{"role": role, "content": "word " * 100} for role in ("system", "user", "assistant")]


def body(number: int) -> dict[str, Any]:
    return {"model": "m", "messages": [*HISTORY, {"role": "user", "content": f"say {number}"}]}


def said(content: bytes) -> str:
    return str(json.loads(content)["choices"][0]["message"]["content"])


async def ours(url: str, in_flight: int, transport: str) -> Opened:
    """The whole of our client."""
    from agentgauge.core.chat import ChatRequest
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.limits import AdaptiveLimiter
    from agentgauge.model.presets import resolve

    spec = replace(resolve("m", url=url, environ={}), transport=transport)
    model = OpenAIModel(spec, AdaptiveLimiter(in_flight, start=in_flight), environ={})

    async def ask(number: int) -> str:
        return (await model.complete(ChatRequest(tuple(body(number)["messages"])))).text

    return ask, model.close


async def bare_aiohttp(url: str, _in_flight: int) -> Opened:
    """The floor: aiohttp, and nothing around it."""
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar())

    async def ask(number: int) -> str:
        async with session.post(f"{url}/chat/completions", json=body(number)) as answer:
            return said(await answer.read())

    return ask, session.close


async def httpx_client(url: str, in_flight: int, http2: bool) -> Opened:
    """httpx2 by itself; over HTTP/2 all requests share one connection."""
    import httpx2

    limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    client = httpx2.AsyncClient(http1=not http2, http2=http2, limits=limits, timeout=60)

    async def ask(number: int) -> str:
        return said((await client.post(f"{url}/chat/completions", json=body(number))).content)

    return ask, client.aclose


CLIENTS: dict[str, Callable[[str, int], Awaitable[Opened]]] = {
    "lean": lambda url, width: ours(url, width, "lean"),
    "openai": lambda url, width: ours(url, width, "openai"),
    "aiohttp": bare_aiohttp,
    "httpx2": lambda url, width: httpx_client(url, width, False),
    "http2": lambda url, width: httpx_client(url, width, True),
}


def memory() -> float:
    """MB in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


async def measure(name: str, url: str, requests: int, in_flight: int) -> dict[str, float]:
    before, cpu = memory(), time.process_time()
    ask, close = await CLIENTS[name](url, in_flight)
    await ask(0)
    first = {"first_cpu": time.process_time() - cpu, "first_mb": memory() - before}
    places = asyncio.Semaphore(in_flight)

    async def one(number: int) -> None:
        async with places:
            assert await ask(number) == str(number)

    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(requests)))
    cost = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    await close()
    return cost | first


class Http2Echo(asyncio.Protocol):
    """A fixed latency and the last word, as of ``benchmarks.endpoint``, over HTTP/2 without TLS."""

    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        import h2.config
        import h2.connection

        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self.connection.initiate_connection()
        self.connection.update_settings({3: 1000})  # streams at once
        self.received: dict[int, bytes] = {}
        self.flush()

    def flush(self) -> None:
        self.transport.write(self.connection.data_to_send())

    def data_received(self, data: bytes) -> None:
        import h2.events

        for event in self.connection.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.received[event.stream_id] = self.received.get(event.stream_id, b"") + event.data
                self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                message = json.loads(self.received.pop(event.stream_id))["messages"][-1]["content"]
                asyncio.get_running_loop().call_later(
                    self.latency, self.answer, event.stream_id, message.rsplit(None, 1)[-1]
                )
        self.flush()

    def answer(self, stream: int, word: str) -> None:
        self.connection.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
        self.connection.send_data(stream, (COMPLETION % json.dumps(word)).encode(), end_stream=True)
        self.flush()


async def serve_http2(latency: float) -> None:
    Http2Echo.latency = latency
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Http2Echo, "127.0.0.1", 0)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"}), flush=True)
    await stop.wait()


if __name__ == "__main__":
    if sys.argv[1] == "serve-http2":
        asyncio.run(serve_http2(float(sys.argv[2])))
    else:
        print(json.dumps(asyncio.run(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))))
