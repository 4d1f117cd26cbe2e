"""What requests cost: prices that a model's table gives, that a plugin knows, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agentgauge.core.announcement import announced, refused
from agentgauge.core.types import Usage


class PriceList(Protocol):
    """The prices of requests to a model."""

    @property
    def known(self) -> bool:
        """Whether the cost of requests is known; otherwise ``dollars`` returns 0."""

    @property
    def free(self) -> bool:
        """Whether requests are known to cost nothing."""

    @property
    def source(self) -> str:
        """Where the prices come from."""

    def dollars(self, usage: Usage) -> float:
        """The price of one request in US dollars."""

    def batch(self) -> PriceList:
        """The prices of requests in batches."""


@dataclass(frozen=True, slots=True)
class NoPrices:
    """Of a model whose prices are not known."""

    known = free = False
    source = ""

    def dollars(self, usage: Usage) -> float:
        return 0.0

    def batch(self) -> NoPrices:
        return self


def prices_of(url: str, model: str) -> PriceList:
    """Of the model at a provider's address, from the first plugin that has some; those of other packages are asked
    before AgentGauge's own. Raises UsageProblem for a plugin that announces no functions."""
    for plugin, find in reversed(announced("prices")):
        if not callable(find):
            raise refused(plugin, "prices", f"names {find!r:.200}; accepted is a function (url, model)")
        found: PriceList | None = find(url, model)
        if found is not None:
            return found
    return NoPrices()
