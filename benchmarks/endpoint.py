"""An endpoint that takes its time, in a process of its own: ``python -m benchmarks.endpoint '{"median": 0.2, "limited":
0.05}'``.

The argument is what ``Draws`` takes, and ``calls`` and ``cap``; a number alone is a fixed latency in seconds. A request
is answered with the last word of its last user message, which is the right answer to "say N"; one with tools by
``calls`` calls of the first of them. Above ``cap`` requests in the air each further one gets a 429.

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
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from benchmarks.draws import Drawn, Draws

REASONS = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error"}
STATUSES = {"refused": 400, "limited": 429, "limited for a second": 429, "failed": 500}
HEAD = (
    '{"id":"chatcmpl-benchmark","object":"chat.completion","created":0,"model":"echo","choices":[{"index":0,"message":'
)
TAIL = '}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}'


@dataclass
class Log:
    """What happened, over all connections. Times are those of the monotonic clock, which all processes share."""

    arrivals: list[float] = field(default_factory=list)
    last_answer: float = 0.0
    answered: int = 0
    in_air: int = 0
    most_in_air: int = 0
    tries: Counter[str] = field(default_factory=Counter)  # request → how often it was drawn
    paid: Counter[str] = field(default_factory=Counter)  # request → how often it was fully answered, wanted or not
    kinds: Counter[str] = field(default_factory=Counter)

    def report(self) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "requests": len(self.arrivals),
            "answered": self.answered,
            "paid": self.paid.total(),
            "paid_twice": self.paid.total() - len(self.paid),
            "kinds": dict(self.kinds),
            "most_in_air": self.most_in_air,
            "first_arrival": self.arrivals[0] if self.arrivals else None,
            "last_arrival": self.arrivals[-1] if self.arrivals else None,
            "last_answer": self.last_answer,
            "cpu_seconds": used.ru_utime + used.ru_stime,
        }


class Connection(asyncio.Protocol):
    """Reads requests with a Content-Length, as clients send them, one after the other."""

    def __init__(self, draws: Draws, calls: int, cap: int, log: Log) -> None:
        self.draws, self.calls, self.cap, self.log = draws, calls, cap, log
        self.received = bytearray()
        self.waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self.waiting:
            self.waiting = False
            self.log.in_air -= 1

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (head := self.received.find(b"\r\n\r\n")) >= 0:
            if self.received.startswith(b"GET "):
                del self.received[: head + 4]
                self.write(200, json.dumps(self.log.report()).encode())
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
        log, messages = self.log, body["messages"]
        log.arrivals.append(time.monotonic())
        text = next(message["content"] for message in reversed(messages) if message["role"] == "user")
        key = f"{text} #{len(messages)}"
        self.waiting = True
        log.in_air += 1
        log.most_in_air = max(log.most_in_air, log.in_air)
        if self.cap and log.in_air > self.cap:
            drawn = Drawn("limited", 0.0)
        else:
            drawn = self.draws.draw(key, log.tries[key])
            log.tries[key] += 1
        log.kinds[drawn.kind] += 1
        if drawn.kind == "silent":
            return
        if drawn.kind in ("right", "wrong"):
            log.paid[key] += 1
            tool = body["tools"][0]["function"] if self.calls and body.get("tools") else None
            answer = self.message(text.rsplit(None, 1)[-1] if drawn.kind == "right" else "another", tool, len(messages))
            body_out = f"{HEAD}{answer}{TAIL % (size // 4, len(answer) // 4, size // 4 + len(answer) // 4)}".encode()
        else:
            body_out = json.dumps({"error": {"message": drawn.kind, "type": "benchmark"}}).encode()
        asyncio.get_running_loop().call_later(drawn.seconds, self.answer, drawn, body_out)

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

    def answer(self, drawn: Drawn, body: bytes) -> None:
        if not self.waiting:  # the client has left
            return
        self.waiting = False
        self.log.in_air -= 1
        self.log.answered += 1
        self.log.last_answer = time.monotonic()
        headers = b"Retry-After: 1\r\n" if drawn.kind == "limited for a second" else b""
        self.write(STATUSES.get(drawn.kind, 200), body, headers)

    def write(self, status: int, body: bytes, headers: bytes = b"") -> None:
        start = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n".encode()  # noqa: E501
        self.transport.write(b"%b%b\r\n%b" % (start, headers, body))


async def serve(draws: Draws, calls: int, cap: int) -> None:
    loop, log = asyncio.get_running_loop(), Log()
    server = await loop.create_server(lambda: Connection(draws, calls, cap, log), "127.0.0.1", 0, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"}), flush=True)
    await stop.wait()
    print(json.dumps(log.report() | {"arrivals": log.arrivals}), flush=True)


def main(argument: str) -> None:
    given = json.loads(argument)
    given = given if isinstance(given, dict) else {"median": given}
    calls, cap = given.pop("calls", 0), given.pop("cap", 0)
    asyncio.run(serve(Draws(**given), calls, cap))


if __name__ == "__main__":
    main(sys.argv[1])
