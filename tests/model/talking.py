"""One request, or a short talk, to an endpoint on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from agentgauge.core.chat import ChatRequest
from agentgauge.model.client import OpenAIModel
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.presets import resolve
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec

SECRET = "own-endpoint-key-0815"
ENVIRON = {"AGENTGAUGE_API_KEY": SECRET}
HELLO = ChatRequest(messages=({"role": "user", "content": "Hello"},))


def spec_at(url: str, **changes: Any) -> ModelSpec:
    settings: dict[str, Any] = {"timeout": 5.0, "max_retries": 0, **changes}
    return replace(resolve("test-model", url=url, environ=ENVIRON), **settings)


def talk_to(
    spec: ModelSpec,
    talk: Callable[[OpenAIModel], Awaitable[Any]] | None = None,
    environ: Mapping[str, str] = ENVIRON,
    limiter: AdaptiveLimiter | None = None,
) -> Any:
    """One request, or a whole talk. Nothing is slept between tries."""

    async def sleep(_seconds: float) -> None: ...

    async def main() -> Any:
        policy = RetryPolicy(max_retries=spec.max_retries, sleep=sleep)
        model = OpenAIModel(spec, limiter or AdaptiveLimiter(8), policy=policy, environ=environ)
        try:
            return await (talk(model) if talk else model.complete(HELLO))
        finally:
            await model.close()

    return asyncio.run(main())
