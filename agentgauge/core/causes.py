"""What can go wrong on the way to a reply, in one vocabulary: from the socket to the page.

The cause of a broken case is a short stable text. These are all causes, by whose they are. ``http 503`` is any status,
``failed: …`` any code that an endpoint reports.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgauge.core.presentation import BREAKS, kinds

UNANSWERED = ("timeout", "connection", "disconnected")
"""No answer at all came."""

CAUSES = kinds(
    endpoint=", ".join(
        (
            "disconnected, certificate, proxy, truncated body, garbled body, not http, redirects, answer too long",
            "invalid json, no choices, no output, no file id, failed, user silent, server parsed, ModelFault",
            "files in a batch, no id, no batch, no batches, unread file, no result, failed in batch, batch expired",
            "batch cancelled, batch failed, batch not ended, no reply",
        )
    ),
    agent="agent failed",
    tool="no services, memory, closed, protocol, ToolFault",
    sandbox="no process, no room, no program, no folder, SandboxFault",
    data="not scorable, ReplayMiss, Fault",
    disk="disk full, run folder",
    internal="internal error, worker died",
)
"""Cause → whose it is, a key of ``BREAKS``. Endpoints and tool servers share the other causes: ``http 503``,
``timeout``, ``connection``. Benchmarks add theirs (``Presentation.kinds``)."""

OF_MODEL = "model "
"""The beginning of every message about an endpoint; the model's name follows."""


def owner_of(cause: str, message: str) -> str:
    """Whose a cause is, a key of ``BREAKS``. ``message``: the error of the case, for a cause that several share."""
    owner = CAUSES.get(cause, cause)
    if owner in BREAKS:
        return owner
    return "endpoint" if message.startswith(OF_MODEL) else "tool"


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt, or a whole request, without a usable answer. A value, not an exception: thousands of requests may
    fail, and tracebacks are expensive."""

    cause: str  # short and stable: "http 500", "timeout"
    message: str  # for a person, without secrets
    final: bool = False  # another attempt cannot help
    limited: bool = False  # the endpoint limits the rate of requests
    by_others: bool = False  # other requests or an outage may be the reason: the same again proves nothing
    retry_after: float | None = None  # seconds, as the endpoint asked
    tries: int = 1  # requests that were made in total
    answer: str = field(default="", repr=False)  # the endpoint's whole answer, to be read by programs only

    @property
    def unanswered(self) -> bool:
        return self.cause in UNANSWERED


def failed_with(status: int, message: str, *, answer: str = "") -> Failure:
    """The failure that an HTTP status means."""
    limited = status in (429, 529)
    final = not limited and status not in (408, 409, 425) and status < 500
    return Failure(f"http {status}", message, final, limited, answer=answer)
