"""The transport that a model's table names. Its libraries are imported with the first request, never before."""

from __future__ import annotations

from collections.abc import Mapping

from agentgauge.model.spec import ModelSpec
from agentgauge.model.transport.base import Transport


def open_transport(spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> Transport:
    """``transport = "lean"``: aiohttp alone; ``"openai"``: the package. Call it inside the event loop."""
    if spec.transport == "openai":
        from agentgauge.model.transport.openai_client import OpenAITransport

        return OpenAITransport(spec, key, environ)
    from agentgauge.model.transport.aiohttp_client import AiohttpTransport

    return AiohttpTransport(spec, key, environ)
