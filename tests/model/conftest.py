"""What tests of the client share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from agentgauge.model import endpoint
from agentgauge.model.spec import ModelSpec, TransportName
from agentgauge.model.transport.base import Transport


@pytest.fixture(params=["lean", "openai"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TransportName:
    """Every request of the test goes this way, whatever the model's table says."""
    name, unchanged = cast(TransportName, request.param), endpoint.open_transport

    def opened(spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> Transport:
        return unchanged(replace(spec, transport=name), key, environ)

    monkeypatch.setattr(endpoint, "open_transport", opened)
    return name


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the test names no proxy and no certificates."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
