"""The seam to the wire: one try of a request to an answer, or to how it was lost. Knows nothing of retries and of
models.

Two ways lie behind it, chosen by ``transport`` in a model's table: ``lean`` (aiohttp alone) and ``openai`` (the
package). Both are imported with the first request, never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from agentgauge.core.redaction import redact

if TYPE_CHECKING:
    from agentgauge.model.spec import ModelSpec

Upload = tuple[str, bytes, str]
"""A file to send: name, content, media type."""

LostCause = Literal[
    "timeout",
    "connection",
    "certificate",
    "proxy",
    "truncated body",
    "garbled body",
    "not http",
    "redirects",
    "answer too long",
]
"""How a try ends without an answer; the cause that a broken case shows."""

MAX_ANSWER = 32 * 1024 * 1024
"""Bytes of one answer, unpacked. Far more than any reply, and little enough for many at once."""
MAX_REDIRECTS = 20  # as the ``openai`` package follows


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is sent. ``content`` is JSON; a request with a ``file`` is a form of ``fields`` around it instead."""

    method: Literal["POST", "DELETE"]
    path: str  # below the base address, with its first slash, percent-encoded
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)  # of this request; no secrets
    fields: Mapping[str, str] = field(default_factory=dict)
    file: Upload | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, of whatever status, unpacked."""

    status: int
    reason: str
    headers: Mapping[str, str]  # found by names of any case
    content: bytes

    def text(self) -> str:
        """The beginning, for a person. Without secrets, so that none is cut in two."""
        return redact(self.content[:8000].decode("utf-8", "replace"))[:4000]


@dataclass(frozen=True, slots=True)
class Lost:
    """No whole answer came."""

    cause: LostCause
    detail: str = ""  # for a person; may quote the endpoint, so the key has still to be taken out


class Transport(Protocol):
    """Belongs to one event loop and one endpoint."""

    async def send(self, request: Outgoing) -> Answer | Lost:
        """One try, redirects followed. Has no time-out of its own: a cancelled try lets go of its connection.

        Raises UsageProblem where the environment names an unusable proxy or certificate file.
        """

    async def close(self) -> None:
        """Close every connection."""


def open_transport(spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> Transport:
    """The transport that the spec names. Imports its libraries; call it inside the event loop."""
    if spec.transport == "openai":
        from agentgauge.model.transport.openai_client import PackagedTransport

        return PackagedTransport(spec, key, environ)
    from agentgauge.model.transport.aiohttp_client import LeanTransport

    return LeanTransport(spec, key, environ)
