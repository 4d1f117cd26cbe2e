"""One batch: its requests until they are submitted, and the answers to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgauge.core.causes import Failure
from agentgauge.plugins.batch.formats import BatchItem, without_result

Line = Mapping[str, Any]


@dataclass(eq=False)
class Batch:
    """``name``: our own, with which the ids of its requests begin. ``count``: its requests."""

    name: str
    count: int = 0
    items: list[BatchItem] = field(default_factory=list)  # until they are submitted
    digests: list[str] = field(default_factory=list)
    size: int = 0  # bytes of the items
    full: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None  # ends when the answers are there
    failure: Failure = field(default_factory=lambda: without_result("completed"))  # of requests without an answer
    answers: dict[str, bytes] = field(default_factory=dict)  # custom id → line, until it is asked for

    def add(self, digest: str, body: bytes) -> int:
        """Add a request. Returns its number."""
        number = self.count
        self.items.append(BatchItem(self.custom_id(number), body))
        self.digests.append(digest)
        self.size += len(body)
        self.count += 1
        return number

    def custom_id(self, number: int) -> str:
        return f"{self.name}-{number}"

    def take(self, content: bytes, worth: Callable[[Line], int]) -> None:
        """Read results, one JSON object a line. Results of other batches are ignored; of several results of one
        request the first that is worth most counts."""
        for line in content.split(b"\n"):
            found = _parsed(line)
            identity = found.get("custom_id")
            if not (isinstance(identity, str) and identity.startswith(f"{self.name}-")):
                continue
            earlier = self.answers.get(identity)
            if earlier is None or worth(found) > worth(_parsed(earlier)):
                self.answers[identity] = line

    async def answer(self, number: int) -> Line | Failure:
        """Wait for the answer to a request. Raises what kept the batch from being submitted."""
        assert self.task is not None
        await asyncio.shield(self.task)  # a case that is cancelled leaves the batch to the others
        line = self.answers.pop(self.custom_id(number), None)
        return self.failure if line is None else _parsed(line)


def _parsed(line: bytes) -> Line:
    """Empty for a line that is no JSON object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
