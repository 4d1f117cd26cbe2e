"""Python's garbage collector rests while what lives long is made, and is as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from agentgauge.core.garbage_collection import at_rest


@pytest.fixture(params=[True, False], ids=["on", "off"])
def was_on(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()
    gc.unfreeze()


def test_it_rests_and_is_as_it_was(was_on: bool) -> None:
    frozen = gc.get_freeze_count()
    with at_rest():
        assert not gc.isenabled()
        kept = [[] for _ in range(1000)]
    assert gc.isenabled() == was_on
    assert (gc.get_freeze_count() >= frozen + len(kept)) == was_on


def test_it_is_as_it_was_where_something_goes_wrong(was_on: bool) -> None:
    with pytest.raises(ZeroDivisionError), at_rest():
        print(1 / 0)
    assert gc.isenabled() == was_on
