"""The prices that the package genai-prices knows.

Only the data that comes with the package is used: nothing is downloaded. It takes 0.3 s to import, so it is imported
when a price is first needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from threading import Thread

from agentgauge.core.types import Usage
from agentgauge.model.prices import PriceList

PACKAGE = "genai-prices"
BATCH_SHARE = 0.5
"""The price of a request in a batch as a share of the normal price, if the package has no prices for batches. All
providers with batches document this discount."""


@dataclass(frozen=True, slots=True)
class ListedPrices:
    """Prices from genai-prices. A provider may have other prices for long prompts, and at other times of the day."""

    url: str  # of the provider, by which the package knows it
    model: str
    in_batches: bool = False
    free = False

    @property
    def source(self) -> str:
        return f"{PACKAGE} {version(PACKAGE)}"

    @property
    def known(self) -> bool:
        return _batch_share(self.url, self.model) is not None

    def dollars(self, usage: Usage) -> float:
        share = _batch_share(self.url, self.model)
        if share is None:
            return 0.0
        from genai_prices import calc_price
        from genai_prices.types import Usage as Counts

        counts = Counts(
            input_tokens=usage.prompt_tokens,
            cache_read_tokens=usage.cached_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.completion_tokens,
            output_reasoning_tokens=usage.reasoning_tokens,
        )
        context = {"processing": "batch"} if self.in_batches else None
        found = calc_price(counts, self.model, provider_api_url=self.url, price_context=context)
        return float(found.total_price) * (share if self.in_batches else 1)

    def batch(self) -> ListedPrices:
        return replace(self, in_batches=True)


def listed(url: str, model: str) -> ListedPrices | None:
    """None for a server of the user's own: the package is not even imported."""
    return ListedPrices(url, model) if url.startswith("https://") else None


def installed() -> dict[str, str]:
    """The package and its version."""
    return {PACKAGE: version(PACKAGE)}


def look_up_early(prices: PriceList) -> None:
    """Look prices up in a thread, so that the first reply does not wait for it."""
    if isinstance(prices, ListedPrices):
        Thread(target=lambda: prices.known, name="agentgauge-prices", daemon=True).start()


@cache
def _batch_share(url: str, model: str) -> float | None:
    """The factor for a request in a batch on top of the package's prices. None for a model that it does not know."""
    from genai_prices import calc_price
    from genai_prices.types import Usage as Counts

    try:
        found = calc_price(Counts(), model, provider_api_url=url)
    except LookupError:
        return None
    # the package applies variants only to the models that the provider itself lists
    own = any(found.model is listed for listed in found.provider.models)
    variants = (found.model.price_variants or ()) if own else ()
    return 1.0 if any(variant.when.get("processing") == "batch" for variant in variants) else BATCH_SHARE
