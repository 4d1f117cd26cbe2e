"""Fixtures that several families of tools share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a host was to be contacted")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(f"socket.socket.{name}", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
