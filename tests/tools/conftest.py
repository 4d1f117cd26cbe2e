"""Fixtures that several families of tools share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a host was to be contacted")

    for name in ("socket.connect", "socket.connect_ex", "getaddrinfo"):
        monkeypatch.setattr(f"socket.{name}", refuse)
