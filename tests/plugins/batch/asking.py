"""Requests to a stand-in, through a BatchModel as a run has it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest
from agentgauge.core.config import Config, ModelTable, Prices
from agentgauge.core.errors import ModelFault
from agentgauge.model.presets import resolve
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.batch.journal import FILE
from agentgauge.plugins.batch.model import BatchModel
from agentgauge.plugins.batch.providers import FORMATS, with_batch_prices
from tests.plugins.batch.stand_in import COMPLETION, PROMPT, StandIn

ENVIRON = {"TEST_KEY": "a-key-of-the-stand-in-4711", "AGENTGAUGE_BACKOFF": "0"}


def spec_of(server: StandIn, **table: Any) -> ModelSpec:
    more = {"endpoint": server.url, "deployment": "m-deployed"} if server.provider == "azure" else {"url": server.url}
    tables = {
        "m": ModelTable(
            provider=server.provider,
            model="m-1",
            key_env="TEST_KEY",
            prices=Prices(PROMPT, COMPLETION),
            **{**more, **table},
        )
    }
    return resolve("m", config=Config(models=tables), environ=ENVIRON)


def request(text: str, number: int = 0) -> ChatRequest:
    return ChatRequest(messages=({"role": "user", "content": f"say {text}"},), case=CaseKey("t", f"s{number}"))


def ask(
    server: StandIn, folder: Path, texts: Sequence[str], *, most: int = 100, **table: Any
) -> list[ChatReply | ModelFault]:
    """The replies to requests that wait at one time."""

    async def main() -> list[Any]:
        spec = with_batch_prices(spec_of(server, **table))
        model = BatchModel(spec, FORMATS[server.provider], folder / FILE, most=most, environ=ENVIRON)
        try:
            requests = [request(text, number) for number, text in enumerate(texts)]
            return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)
        finally:
            await model.close()

    outcomes = asyncio.run(main())
    for outcome in outcomes:
        if not isinstance(outcome, ChatReply | ModelFault):
            raise outcome
    return outcomes


def words(outcomes: Sequence[ChatReply | ModelFault]) -> list[str]:
    """The text of each reply, the cause of each fault."""
    return [outcome.text if isinstance(outcome, ChatReply) else f"! {outcome.cause}" for outcome in outcomes]
