"""Anthropic's Message Batches, whose requests and results have the form of its Messages interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from agentgauge.core.causes import Failure
from agentgauge.core.reply_ends import FILTERED, is_filter_error
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import error_text
from agentgauge.plugins.batch.formats import (
    ONCE,
    BatchFormat,
    BatchItem,
    Result,
    Sought,
    Status,
    lines,
    list_batches,
    read_batch,
    read_id,
    without_result,
)
from agentgauge.plugins.batch.messages import chat_completion, messages_body

_PATH = "/messages/batches"

_LIMITED = ("rate_limit_error", "overloaded_error")
_PASSING = (*_LIMITED, "api_error", "timeout_error")
"""Types of errors; all others are final."""


@dataclass(frozen=True)
class AnthropicBatches(BatchFormat):
    """Found again by the results, which hold our ids: a batch has no fields of our own."""

    title: str = "Anthropic"
    most: int = 100_000
    largest: int = 100_000_000
    takes_files: bool = True

    def endpoint_spec(self, spec: ModelSpec) -> ModelSpec:
        return replace(spec, kind="anthropic")

    def request_body(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return messages_body(body)

    async def create(self, endpoint: Endpoint, upload: str, items: Sequence[BatchItem]) -> str | Failure:
        requests = b",".join(lines(items, b'{"custom_id":"%s","params":%s}'))
        return await endpoint.post(_PATH, b'{"requests":[' + requests + b"]}", read_id, policy=ONCE)

    async def find(self, endpoint: Endpoint, sought: Sought) -> list[str] | Failure:
        found = await list_batches(endpoint, _PATH, sought.since, cursor="after_id")
        if isinstance(found, Failure):
            return found
        return [str(batch.get("id")) for batch in found if _total(batch) == sought.count]

    async def status(self, endpoint: Endpoint, identity: str) -> Status | Failure:
        path = f"{_PATH}/{quote(identity, safe='')}"
        about = await endpoint.get(path, read_batch)
        if isinstance(about, Failure):
            return about
        if (word := str(about.get("processing_status"))) != "ended":
            return Status(word=word)
        # the address in results_url may be another host's, which must not get the key
        return Status("completed", paths=(f"{path}/results",))

    def result(self, endpoint: Endpoint, line: Mapping[str, Any]) -> Result:
        result = line.get("result")
        kind = result.get("type") if isinstance(result, Mapping) else None
        if isinstance(result, Mapping) and kind == "succeeded" and isinstance(result.get("message"), Mapping):
            return chat_completion(result["message"])
        if isinstance(result, Mapping) and kind == "errored":
            return _errored(result.get("error"))
        return without_result("expired" if kind == "expired" else "cancelled" if kind == "canceled" else "completed")


def _errored(answer: object) -> Failure:
    """The failure of one request; the error's own object is inside an answer of type ``error``."""
    error = answer.get("error", answer) if isinstance(answer, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    if is_filter_error(400, {"error": error}):
        return Failure(FILTERED, error_text({"error": error}), final=True)
    text = f"the request failed in its batch: {error_text({'error': error})}"
    if not isinstance(kind, str):
        return Failure("failed in batch", text)
    return Failure(f"failed: {kind}"[:60], text, final=kind not in _PASSING, limited=kind in _LIMITED)


def _total(batch: Mapping[str, Any]) -> int:
    counts = batch.get("request_counts")
    return sum(n for n in counts.values() if isinstance(n, int)) if isinstance(counts, Mapping) else 0


ANTHROPIC = AnthropicBatches()
