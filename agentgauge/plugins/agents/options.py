"""The option of this plugin."""

from __future__ import annotations

from dataclasses import dataclass

from agentgauge.core.option import EARLIER, LAUNCH, option


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    agent: str | None = option(
        "--agent=COMMAND",
        "test an agent program in the model's place, or a function that a package announces; --model"
        " then names the model that the agent may ask",
        usual="test the model",
        kept=EARLIER,
        fingerprint="agent",
        excludes={
            "batch": "an agent would wait up to a day for each reply",
            "rescore": "a rescored run starts no agent",
            LAUNCH: "agents run on this machine",
        },
    )
