"""An endpoint that writes a bill of its own: what it charges for each answer, also for those that are of no use."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any

from tests.model.fault_server import Act, FaultServer, Seen, completion, data

LATENCY = 0.2
"""Seconds of each answer."""

DOLLARS = {"prompt": Decimal("2.5"), "cached": Decimal("1.25"), "completion": Decimal(10)}
"""Per million tokens, as gpt-4o has them."""


class Till:
    """Charges like a provider with a prompt cache: what it has seen of a conversation before is half price."""

    def __init__(self, latency: float = LATENCY, reply: Callable[[Seen], str] = lambda seen: "I do not know.") -> None:
        self.bill = Decimal(0)
        self.counts = {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "useless": 0}
        self.uncached = 0  # requests of which nothing was in the cache
        self._latency = latency
        self._reply = reply
        self._seen: set[str] = set()
        self._kept: set[str] = set()  # first messages of answered requests
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Act:
        text = json.dumps(seen.body["messages"])
        with self._lock:
            number = int(sha256(text.encode()).hexdigest()[:8], 16)
            useless = text not in self._seen and number % 10 == 0  # it answers when it is asked again
            first = json.dumps(seen.body["messages"][0])
            cached = min(len(first), len(text)) // 4 if first in self._kept else 0
            self.uncached += not cached
            self._seen.add(text)
            usage = self._charge(len(text) // 4, cached, 20 + number % 50)
            self.counts["useless"] += useless
        said = completion(self._reply(seen), usage=usage)
        answer = data({**said, "choices": [] if useless else said["choices"], "usage": usage})

        def later(connection: Any, asked: Seen, stopped: threading.Event) -> bool:
            stopped.wait(self._latency)
            self._kept.add(first)
            return answer(connection, asked, stopped)

        return later

    def _charge(self, prompt: int, cached: int, completed: int) -> dict[str, Any]:
        self.bill += ((prompt - cached) * DOLLARS["prompt"] + cached * DOLLARS["cached"]) / 1_000_000
        self.bill += completed * DOLLARS["completion"] / 1_000_000
        for name, count in (("prompt_tokens", prompt), ("completion_tokens", completed), ("cached_tokens", cached)):
            self.counts[name] += count
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completed,
            "total_tokens": prompt + completed,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": completed // 2},
        }


def serve(till: Till) -> FaultServer:
    return FaultServer(choose=till)
