"""An endpoint that takes its time, in a process of its own: ``python -m benchmarks.endpoint SECONDS CALLS``.

Each request is answered after so many seconds with the last word of its last user message, which is the right answer to
"say N"; one with tools by CALLS calls of the first of them.

It prints one line of JSON with its address when it is ready, and on SIGTERM one with what it did and the CPU that took,
so that a figure can be read without its share. A GET of any path answers the same line at once.

Written on asyncio's protocols: a few hundred lines of a web framework would cost more CPU than the client under test.
asyncio sets TCP_NODELAY by itself and an answer is one write, so nothing waits for an acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

HEAD = (
    '{"id":"chatcmpl-benchmark","object":"chat.completion","created":0,"model":"echo","choices":[{"index":0,"message":'
)
TAIL = '}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}'


@dataclass
class Log:
    """What happened, over all connections. Times are those of the monotonic clock, which all processes share."""

    requests: int = 0
    answered: int = 0
    first_arrival: float | None = None

    def report(self) -> bytes:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return json.dumps({**vars(self), "cpu_seconds": used.ru_utime + used.ru_stime}).encode()


class Connection(asyncio.Protocol):
    """Reads requests with a Content-Length, as clients send them, one after the other."""

    def __init__(self, seconds: float, calls: int, log: Log) -> None:
        self.seconds, self.calls, self.log = seconds, calls, log
        self.received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (head := self.received.find(b"\r\n\r\n")) >= 0:
            if self.received.startswith(b"GET "):
                del self.received[: head + 4]
                self.write(self.log.report())
                continue
            lines = self.received[:head].lower().split(b"\r\n")
            size = next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))
            end = head + 4 + size
            if len(self.received) < end:
                return
            body = json.loads(self.received[head + 4 : end])
            del self.received[:end]
            self.ask(body, size)

    def ask(self, body: dict[str, Any], size: int) -> None:
        messages = body["messages"]
        self.log.requests += 1
        self.log.first_arrival = self.log.first_arrival or time.monotonic()
        text = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        tool = body["tools"][0]["function"] if self.calls and body.get("tools") else None
        answer = self.message(text.rsplit(None, 1)[-1], tool, len(messages))
        usage = TAIL % (size // 4, len(answer) // 4, size // 4 + len(answer) // 4)
        asyncio.get_running_loop().call_later(self.seconds, self.answer, f"{HEAD}{answer}{usage}".encode())

    def message(self, word: str, tool: dict[str, Any] | None, place: int) -> str:
        """The message and the reason why it ended, as JSON text."""
        if tool is None:
            return f'{{"role":"assistant","content":{json.dumps(word)}}},"finish_reason":"stop"'
        arguments = json.dumps(dict.fromkeys(tool["parameters"]["properties"], word))
        function = {"name": tool["name"], "arguments": arguments}
        calls = [
            {"id": f"call_{place}_{number}", "type": "function", "function": function} for number in range(self.calls)
        ]
        return f'{{"role":"assistant","content":null,"tool_calls":{json.dumps(calls)}}},"finish_reason":"tool_calls"'

    def answer(self, body: bytes) -> None:
        if not self.transport.is_closing():
            self.log.answered += 1
            self.write(body)

    def write(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


async def serve(seconds: float, calls: int) -> None:
    loop, log = asyncio.get_running_loop(), Log()
    server = await loop.create_server(lambda: Connection(seconds, calls, log), "127.0.0.1", 0, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"}), flush=True)
    await stop.wait()
    print(log.report().decode(), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), int(sys.argv[2])))
