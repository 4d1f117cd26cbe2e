"""A request to an endpoint, and its answer. Imports no HTTP client, so that only the first request loads one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

from agentgauge.core.causes import Failure
from agentgauge.core.redaction import redact
from agentgauge.model.wire import clean, without_shapes

Upload = tuple[str, bytes, str]
"""A file to send: name, content, media type."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to send. ``content`` is JSON; a request with a ``file`` is a form of ``fields`` and that file
    instead.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str  # below the base address, with its first slash, percent-encoded
    content: bytes = b""
    fields: Mapping[str, Any] = field(default_factory=dict)
    file: Upload | None = None
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


_LOST: Mapping[str, str] = {
    "timeout": "no answer from {place} within {detail}",
    "connection": "no connection to {place}: {detail}",
    "disconnected": "{place} closed the connection before its answer: {detail}",
    "certificate": (
        "the certificate of {place} is not trusted: {detail}; if it is one of your own, name the file of its authority"
        " in SSL_CERT_FILE"
    ),
    "proxy": "the proxy refuses the connection to {place}: {detail}",
    "truncated body": "the endpoint closed the connection in the middle of its answer",
    "garbled body": "the endpoint's answer cannot be decoded: {detail}",
    "not http": "the answer from {place} is not HTTP: {detail}",
    "redirects": "the redirects from {place} cannot be followed: {detail}",
    "answer too long": "the endpoint's answer is longer than {detail} MB",
}


def lost(cause: str, detail: object = "", place: str = "the endpoint") -> Failure:
    """The failure of an attempt without a complete answer. ``cause``: of the table above. ``detail`` may quote the
    endpoint. ``place``: its host and port."""
    message = _LOST[cause].format(place=place, detail=detail)
    return Failure(cause, without_shapes(clean(message)), final=cause in ("certificate", "redirects"))
