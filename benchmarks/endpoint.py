"""An endpoint that takes its time, in a process of its own: ``python -m benchmarks.endpoint 0.2``.

It answers every request after a fixed latency (seconds) with the last word of the last message, which is the right
answer to "say N". It prints one line of JSON with its address when it is ready, and on SIGTERM one with what it did and
the CPU that took, so that a figure can be read without its share.

Written on asyncio's protocols: a few hundred lines of a web framework would cost more CPU than the client under test.
asyncio sets TCP_NODELAY by itself and an answer is one write, so nothing waits for an acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys

TEMPLATE = {
    "id": "chatcmpl-benchmark",
    "object": "chat.completion",
    "created": 0,
    "model": "echo",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}
BEFORE, AFTER = json.dumps(TEMPLATE).split("null")


class Echo(asyncio.Protocol):
    """One connection. Reads requests with a Content-Length, as the client sends them."""

    answered = 0

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (head := self.received.find(b"\r\n\r\n")) >= 0:
            lines = self.received[:head].lower().split(b"\r\n")
            size = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
            end = head + 4 + size
            if len(self.received) < end:
                return
            message = json.loads(self.received[head + 4 : end])["messages"][-1]["content"]
            del self.received[:end]
            asyncio.get_running_loop().call_later(self.latency, self.answer, message.rsplit(None, 1)[-1])

    def answer(self, word: str) -> None:
        if self.transport.is_closing():
            return
        body = f"{BEFORE}{json.dumps(word)}{AFTER}".encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        Echo.answered += 1


async def serve(latency: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Echo(latency), "127.0.0.1", 0, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"}), flush=True)
    await stop.wait()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"requests": Echo.answered, "cpu_seconds": used.ru_utime + used.ru_stime}), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
