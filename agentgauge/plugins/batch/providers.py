"""Which providers have batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentgauge.core.errors import UsageProblem
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.batch.anthropic import ANTHROPIC
from agentgauge.plugins.batch.files import AZURE, OPENAI, TOGETHER
from agentgauge.plugins.batch.formats import BatchFormat
from agentgauge.plugins.batch.openrouter import OPENROUTER

FORMATS: Mapping[str, BatchFormat] = {
    "openai": OPENAI,
    "azure": AZURE,
    "together": TOGETHER,
    "anthropic": ANTHROPIC,
    "openrouter": OPENROUTER,
}
"""Provider → the form of its batches."""


def with_batch_prices(spec: ModelSpec) -> ModelSpec:
    """The model with the prices of requests in batches, where its provider has batches."""
    return replace(spec, prices=spec.prices.batch()) if spec.provider in FORMATS else spec


def check_batches(spec: ModelSpec) -> None:
    """Raises UsageProblem for a model without batches."""
    if spec.provider not in FORMATS:
        raise UsageProblem(
            f"--batch: no batches are known for --model {spec.name}; they are known for the providers"
            f" {', '.join(FORMATS)}, which a model's table in agentgauge.toml names for an address of its own"
        )
    if spec.api == "responses":
        raise UsageProblem(
            f'--batch: the batches of --model {spec.name} hold chat completions; take api = "responses" out of its'
            " table in agentgauge.toml"
        )
