"""OpenRouter's batches: the requests are sent with the batch, and the results come with its status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from agentgauge.core.causes import Failure
from agentgauge.model.endpoint import Endpoint
from agentgauge.plugins.batch.formats import (
    ENDINGS,
    ONCE,
    BatchFormat,
    BatchItem,
    Sought,
    Status,
    failed,
    lines,
    list_batches,
    read_batch,
    read_id,
)


@dataclass(frozen=True)
class OpenRouterBatches(BatchFormat):
    """A batch is found again by its results, which hold our ids. Pictures are not supported, because they would need an
    address. The limits are our own, because none are published."""

    title: str = "OpenRouter"
    most: int = 10_000
    largest: int = 50_000_000
    takes_files: bool = False

    async def create(self, endpoint: Endpoint, upload: str, items: Sequence[BatchItem]) -> str | Failure:
        # the server reads the body as it comes, so the requests are last
        head: dict[str, Any] = {"endpoint": "/v1/chat/completions", "model": json.loads(items[0].body)["model"]}
        head["completion_window"] = "24h"
        start = endpoint.encoded(head).removesuffix(b"}")
        requests = b",".join(lines(items, b'{"custom_id":"%s","body":%s}'))
        return await endpoint.post("/batches", start + b',"requests":[' + requests + b"]}", read_id, policy=ONCE)

    async def find(self, endpoint: Endpoint, sought: Sought) -> list[str] | Failure:
        found = await list_batches(endpoint, "/batches", sought.since)
        if isinstance(found, Failure):
            return found
        return [str(batch.get("id")) for batch in found if _total(batch) in (0, sought.count)]

    async def status(self, endpoint: Endpoint, identity: str) -> Status | Failure:
        about = await endpoint.get(f"/batches/{quote(identity, safe='')}", read_batch)
        if isinstance(about, Failure):
            return about
        word = str(about.get("status")).lower()
        ending = ENDINGS.get(word)
        results = about.get("results") if ending else None
        content = b"\n".join(map(endpoint.encoded, results)) if isinstance(results, list) else b""
        return Status(ending, word, failed(about.get("error")) if ending == "failed" else None, content=content)


def _total(batch: Mapping[str, Any]) -> object:
    """How many requests a batch has; 0 before they are counted."""
    counts = batch.get("request_counts")
    return counts.get("total", 0) if isinstance(counts, Mapping) else 0


OPENROUTER = OpenRouterBatches()
