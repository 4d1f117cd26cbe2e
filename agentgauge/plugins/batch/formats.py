"""The interface of a provider's batch API, and what several of them share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from agentgauge.core.causes import Failure
from agentgauge.core.reply_ends import FILTERED, is_filter_error
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.exchange import Answer
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import PATH, error_text

PAGE = 100
"""Batches that a list has on one page, the newest first."""
PAGES = 5
"""Pages that are searched for a batch whose id is not known."""
SKEW = 300.0
"""Seconds by which the clocks of this machine and of a provider may differ."""
ONCE = RetryPolicy(max_retries=0)
"""One attempt: what creates a batch must not be repeated before a search for the batch."""

Pause = Callable[[int], Awaitable[None]]
"""Waits before the next poll, of which so many have been made."""

Result = Mapping[str, Any] | Failure
"""A decoded chat completion, or why there is none."""

Ending = Literal["completed", "expired", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class BatchItem:
    """A request of a batch. ``custom_id``: at most 64 letters, digits and hyphens, different in all batches."""

    custom_id: str
    body: bytes  # JSON, in the provider's format


@dataclass(frozen=True, slots=True)
class Sought:
    """What is known of a batch whose id is not known."""

    name: str  # our own, with which the ids of its requests begin
    upload: str  # the id of its file; empty where that is not known, or there is none
    since: float  # it was created later
    count: int  # of its requests


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a batch. ``ended``: None while the provider works on it."""

    ended: Ending | None = None
    word: str = ""  # the provider's own word for it
    failure: Failure | None = None  # why the whole batch failed
    paths: tuple[str, ...] = ()  # of the files with its results
    content: bytes = b""  # results that came with the status, one JSON object a line


@dataclass(frozen=True)
class BatchFormat(ABC):
    """One provider's batches. Failures of requests are returned, after retries."""

    title: str  # of the provider
    most: int  # requests of a batch
    largest: int  # bytes of a batch
    takes_files: bool  # pictures and PDFs inside a request

    def endpoint_spec(self, spec: ModelSpec) -> ModelSpec:
        """The endpoint for the batches of a model, and the model's name in them."""
        return spec

    def request_body(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of a chat completion request, as the provider's batches take it."""
        return body

    async def upload(self, endpoint: Endpoint, name: str, items: Sequence[BatchItem], pause: Pause) -> str | Failure:
        """Upload the requests of the batch ``name``; the id of the file. Empty where ``create`` sends them."""
        return ""

    @abstractmethod
    async def create(self, endpoint: Endpoint, upload: str, items: Sequence[BatchItem]) -> str | Failure:
        """Create a batch, in one attempt; its id."""

    @abstractmethod
    async def find(self, endpoint: Endpoint, sought: Sought) -> list[str] | Failure:
        """The ids of batches that may be the one that is sought."""

    @abstractmethod
    async def status(self, endpoint: Endpoint, identity: str) -> Status | Failure:
        """Request the state of a batch."""

    def result(self, endpoint: Endpoint, line: Mapping[str, Any]) -> Result:
        """The result in a line of the results."""
        return chat_result(endpoint, line)

    def worth(self, endpoint: Endpoint, line: Mapping[str, Any]) -> int:
        """The rank of a result: 2 for a reply with its tokens, 1 for one without, 0 for a failure."""
        result = self.result(endpoint, line)
        if isinstance(result, Failure):
            return 0
        usage = result.get("usage")
        tokens = usage.values() if isinstance(usage, Mapping) else ()
        return 2 if any(isinstance(number, int) and number > 0 for number in tokens) else 1


def lines(items: Sequence[BatchItem], pattern: bytes) -> list[bytes]:
    """The JSON object of each request; ``pattern`` has a ``%s`` for its id and one for its body."""
    return [pattern % (item.custom_id.encode(), item.body) for item in items]


def read_id(data: object) -> str | Failure:
    identity = data.get("id") if isinstance(data, Mapping) else None
    if not isinstance(identity, str) or not identity:
        return Failure("no id", "the endpoint took a batch or its file and gave no id for it")
    return identity


def read_object(data: object) -> Mapping[str, Any] | Failure:
    return data if isinstance(data, Mapping) else Failure("no batch", "the endpoint's answer is not a JSON object")


def read_batch(data: object) -> Mapping[str, Any] | Failure:
    """Read a batch. An answer without a status is not a batch, and must not be polled for ever."""
    about = read_object(data)
    if isinstance(about, Failure) or any(isinstance(about.get(key), str) for key in ("status", "processing_status")):
        return about
    return Failure("no batch", "the endpoint's answer about a batch names no status")


def read_files(data: object) -> list[Mapping[str, Any]] | Failure:
    """Read a list of files; Together's is inside ``data``, too."""
    found = _read_page(data)
    return found if isinstance(found, Failure) else found[0]


async def list_batches(
    endpoint: Endpoint, path: str, since: float, *, cursor: str = "after"
) -> list[Mapping[str, Any]] | Failure:
    """The batches created since a time (seconds since the epoch), as far as PAGES go back. ``cursor``: the parameter
    that names the last batch of the page before."""
    found: list[Mapping[str, Any]] = []
    after = ""
    for _ in range(PAGES):
        page = await endpoint.get(f"{path}?limit={PAGE}{after}", _read_page)
        if isinstance(page, Failure):
            return page
        batches, last = page
        found += [batch for batch in batches if seconds_of(batch.get("created_at")) >= since - SKEW]
        if not last or not batches or seconds_of(batches[-1].get("created_at")) < since - SKEW:
            break
        after = f"&{cursor}={quote(last, safe='')}"
    return found


def _read_page(data: object) -> tuple[list[Mapping[str, Any]], str] | Failure:
    """The batches of a page, and the cursor to the next one; Together has one page, which is a list."""
    batches = data.get("data") if isinstance(data, Mapping) else data
    if not isinstance(batches, list):
        return Failure("no batches", "the endpoint's answer is not a list of batches")
    last = data.get("last_id") if isinstance(data, Mapping) and data.get("has_more") else ""
    return [batch for batch in batches if isinstance(batch, Mapping)], last if isinstance(last, str) else ""


def seconds_of(moment: object) -> float:
    """A time in seconds since the epoch, of a number or an ISO date; infinity where there is none."""
    if isinstance(moment, str):
        try:
            return datetime.fromisoformat(moment).timestamp()
        except (ValueError, OverflowError):
            return float("inf")
    return float(moment) if isinstance(moment, int | float) and abs(moment) < 1e12 else float("inf")


ENDINGS: Mapping[str, Ending] = {
    "completed": "completed",
    "expired": "expired",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "failed": "failed",
}
"""The words of OpenAI's batches, which others use too."""

GOING_ON = frozenset(
    ("validating", "in_progress", "finalizing", "cancelling", "canceling", "created", "queued", "pending", "running")
)
"""The words, of OpenAI's batches and of others, for a batch that has not ended."""

CANCELLED = "batch cancelled"
"""The cause of a request that a cancelled batch left without an answer."""

_WITHOUT_RESULT: Mapping[Ending, Failure] = {
    "completed": Failure("no result", "the batch is completed and has no result of this request"),
    "expired": Failure("batch expired", "the batch expired before this request was answered"),
    "cancelled": Failure(CANCELLED, "the batch was cancelled before this request was answered", final=True),
    "failed": Failure("batch failed", "the batch failed"),
}


def without_result(ending: Ending) -> Failure:
    """The failure of a request that is missing from the results of an ended batch."""
    return _WITHOUT_RESULT[ending]


def failed(message: object, *, crowded: bool = False) -> Failure:
    """The failure of a whole batch. ``crowded``: too many requests wait at the provider, so a later batch may work."""
    text = f"the batch failed: {error_text(message)}" if message else "the batch failed, and no reason was given"
    return Failure("batch failed", text, limited=crowded)


def chat_result(endpoint: Endpoint, line: Mapping[str, Any]) -> Result:
    """A line of OpenAI's results, and of those that have its shape."""
    response, error = line.get("response"), line.get("error")
    if isinstance(response, Mapping) and isinstance(body := response.get("body"), Mapping):
        status = response.get("status_code", 200)
        if status == 200:
            return body
        if isinstance(status, int):
            return endpoint.read_error(Answer(status, "", {}, json.dumps(body).encode()), PATH)
    code = error.get("code") if isinstance(error, Mapping) else None
    if code == "batch_expired":
        return without_result("expired")
    if code == "batch_cancelled":
        return without_result("cancelled")
    if is_filter_error(400, {"error": error}):
        return Failure(FILTERED, error_text({"error": error}), final=True)
    if error:
        text = f"the request failed in its batch: {error_text({'error': error})}"
        return Failure("failed in batch", text, limited=_says_limit(error))
    return without_result("completed")


def _says_limit(error: object) -> bool:
    words = [error.get(name) for name in ("code", "type", "error_type")] if isinstance(error, Mapping) else []
    return any(isinstance(word, str) and "rate_limit" in word for word in words)
