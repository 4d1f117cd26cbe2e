"""What is kept of the last few things."""

from __future__ import annotations

from bench_wild.data import recently


def test_results_are_kept_by_identity_for_so_many_and_for_each_further_argument():
    made = []

    @recently(2)
    def name(thing, *rest):
        made.append((thing["is"], *rest))
        return object()

    one, equal, other = {"is": 1}, {"is": 1}, {"is": 2}
    first = name(one)
    assert name(one) is first
    assert name(equal) is not first  # equal, and another
    assert name(one) is first
    name(other)  # the third: the first is gone
    assert name(one) is not first
    assert name(one, "en") is not name(one, "zh")
    assert made == [(1,), (1,), (2,), (1,), (1, "en"), (1, "zh")]
