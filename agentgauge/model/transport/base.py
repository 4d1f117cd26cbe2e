"""The interface of a transport: one attempt of a request, which ends in an answer or a transport error. Knows nothing
of retries and of models."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agentgauge.core.redaction import redact

Upload = tuple[str, bytes, str]
"""A file to send: name, content, media type."""

ErrorCause = Literal[
    "timeout",
    "connection",
    "disconnected",
    "certificate",
    "proxy",
    "truncated body",
    "garbled body",
    "not http",
    "redirects",
    "answer too long",
]
"""Why an attempt has no answer; the cause that a broken case shows."""

MAX_ANSWER = 32 * 1024 * 1024
"""Bytes of one answer, unpacked. Far more than any reply, and little enough for many at once."""
MAX_STREAM = 256 * 1024 * 1024
"""Bytes of an answer that comes as a stream of events: some 250 for each token."""
MAX_DOWNLOAD = 512 * 1024 * 1024
"""Bytes of a file of results, of which a client fetches one at a time."""
MAX_REDIRECTS = 20  # as the ``openai`` package follows


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to send. ``content`` is JSON; a request with a ``file`` is a form of ``fields`` and that file
    instead.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str  # below the base address, with its first slash, percent-encoded
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # of this request; no secrets
    fields: Mapping[str, str] = field(default_factory=dict)
    file: Upload | None = None
    largest: int = MAX_ANSWER  # bytes of the answer
    sending: AbstractContextManager[None] = field(default_factory=nullcontext)  # entered while an attempt is on its way


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete, decompressed answer with any status."""

    status: int
    reason: str
    headers: Mapping[str, str]  # found by names of any case
    content: bytes

    def text(self) -> str:
        """The beginning of the answer, for a message. Secrets are removed before the cut, so that none is cut in
        two.
        """
        return redact(self.content[:8000].decode("utf-8", "replace"))[:4000]


def is_event_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("text/event-stream")


@dataclass(frozen=True, slots=True)
class TransportError:
    """The error of an attempt without a complete answer. A value, not an exception: raising costs 250 ms of CPU where
    thousands of attempts fail.
    """

    cause: ErrorCause
    detail: str = ""  # for a message; may quote the endpoint, so the key has still to be redacted


class Transport(Protocol):
    """Sends single attempts of requests. Belongs to one event loop and one endpoint."""

    async def send(self, request: Outgoing) -> Answer | TransportError:
        """One attempt, redirects followed, without a time-out of its own. A cancelled attempt closes its connection.

        Raises UsageProblem where the environment names an unusable proxy or certificate file.
        """

    async def close(self) -> None:
        """Close every connection."""
