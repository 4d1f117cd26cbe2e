"""HTTP for downloads: one client, its retries, and messages for its failures.

Proxies (``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``) and certificates come from the environment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from agentgauge.core.errors import UsageProblem
from agentgauge.model.retry import asked_seconds

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

BUSY = (408, 429, 500, 502, 503, 504)
"""Statuses after which a retry may help."""

_MOVED = ("does not exist", "it may have moved: try another --mirror or --from")
_CLOSED = (
    "is refused",
    "it may need a token (HF_TOKEN for the hub, of a user who has accepted the terms on the repository's page) or"
    " another --mirror",
)
_LIMITED = ("limits the rate and still refuses", "wait a while and run the command again: it continues from there")
_REFUSALS = {404: _MOVED, 410: _MOVED, 401: _CLOSED, 403: _CLOSED, 429: _LIMITED}


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """How long a download is retried. All in seconds but ``tries``."""

    tries: int = 6  # in a row without a new byte
    first: float = 0.5  # wait after the first failure; doubled each time
    most: float = 120.0  # longest wait, also where the server asks for more
    connect: float = 20.0
    read: float = 60.0

    def wait(self, failures: int, retry_after: str | None) -> float:
        """Seconds to wait after so many failures in a row (from 1): the server can only lengthen the wait. Raises
        UsageProblem for a too long Retry-After."""
        asked = asked_seconds(retry_after, time.time()) or 0.0
        if asked > self.most:
            raise UsageProblem(
                f"the server asks to wait {asked:.0f} s, more than {self.most:.0f} s; run the command again then"
            )
        return max(asked, min(self.first * 2.0 ** (failures - 1), self.most))


class RetryableError(Exception):
    """A failure after which a retry may help."""

    def __init__(self, problem: UsageProblem, retry_after: str | None = None) -> None:
        super().__init__(str(problem))
        self.problem, self.retry_after = problem, retry_after


def retried(attempt: Callable[[], T], settings: RetrySettings) -> T:
    """The result of ``attempt``, which raises Temporary to be called again. Raises its UsageProblem in the end."""
    for failures in range(1, settings.tries + 1):
        try:
            return attempt()
        except RetryableError as failure:
            if failures == settings.tries:
                raise failure.problem from None
            time.sleep(settings.wait(failures, failure.retry_after))
    raise AssertionError("at least one try")


def open_client(patience: RetrySettings) -> httpx2.Client:
    """A client that follows redirects; a session of downloads shares its connections. Raises UsageProblem for a bad
    proxy setting."""
    import httpx2

    try:
        return httpx2.Client(
            follow_redirects=True,
            timeout=httpx2.Timeout(patience.read, connect=patience.connect),
            headers={"User-Agent": "agentgauge-fetch", "Accept-Encoding": "identity"},
        )
    except (ValueError, ImportError) as error:
        raise UsageProblem(
            f"the proxy settings of the environment cannot be used: {error}; correct HTTPS_PROXY or ALL_PROXY"
        ) from None


def offline() -> bool:
    """Whether the user has switched the network off: ``HF_HUB_OFFLINE``, the hub's own variable, holds for every
    source."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "on", "yes", "true")


def refused(status: int, address: str) -> UsageProblem:
    what, advice = _REFUSALS.get(status, ("fails", "run the command again later, it continues from there"))
    return UsageProblem(f"{address} {what} (HTTP {status}); {advice}")


def unreachable(address: str, error: Exception) -> UsageProblem:
    what = str(error) or type(error).__name__
    return UsageProblem(
        f"{address} cannot be reached ({what}); check the network and HTTPS_PROXY, or give a --mirror, "
        "and run the command again: it continues from there"
    )
