"""Reports on their way from a worker to the controller, as one string of bytes each.

execnet writes and reads value by value, in Python, and the three reports of a case have some 200 of them: 0.2 ms of
processor time in worker and controller together. ``marshal`` takes the same values as execnet, and tells lists from
tuples.
"""

from __future__ import annotations

import marshal
from collections.abc import Generator
from typing import Any

import pytest

PACKED = "agentgauge"
"""The key under which the bytes stand in what is sent; what xdist adds stands beside it."""

VERSION = 4
"""Of marshal's format: the one that every Python from 3.4 on reads, whichever a worker on another machine has."""


class Packing:
    """In each worker."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        data = yield
        if data is None:
            return None  # a report that no plugin knows
        try:
            return {PACKED: marshal.dumps(data, VERSION)}
        except ValueError:  # it holds something that execnet may know, or will refuse with a sentence of its own
            return data


class Unpacking:
    """In the controller."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, object, object]:
        if packed := data.pop(PACKED, None):
            data |= marshal.loads(packed)
        return (yield)
