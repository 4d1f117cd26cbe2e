"""What tests of the client share."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the test names no proxy and no certificates."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
