"""The usage of cases of which some requests were answered from a cache."""

from __future__ import annotations

import pytest

from agentgauge.core.types import Usage

SENT = Usage(2, 100, 10, 0.5)


def test_an_answer_from_the_cache_costs_nothing_and_says_what_it_first_cost() -> None:
    again = SENT.from_cache()
    assert again == Usage(2, 100, 10, 0.0, cached_requests=2, saved_tokens=110, saved_usd=0.5)
    assert again.paid_tokens == 0
    assert again.without_cache() == SENT
    assert (SENT + again).paid_tokens == 110


@pytest.mark.parametrize(
    ("paid", "new", "total"),
    [
        (Usage(), SENT, SENT),
        (SENT, Usage(), SENT),
        (SENT, Usage(1, 50, 5, 0.25), Usage(3, 150, 15, 0.75)),  # nothing came from the cache
        (SENT, SENT.from_cache(), SENT),
        (SENT, SENT.from_cache() + Usage(1, 50, 5, 0.25), Usage(3, 150, 15, 0.75)),
        (SENT.from_cache(), SENT.from_cache(), SENT.from_cache()),
        (SENT, Usage(1, 50, 5, 0.25).from_cache(), SENT + Usage(1, 50, 5, 0.25).from_cache()),  # of other requests
    ],
)
def test_a_resumed_case_counts_once_what_it_had_paid_and_got_from_the_cache(
    paid: Usage, new: Usage, total: Usage
) -> None:
    assert (paid + new).resumed(paid) == total
