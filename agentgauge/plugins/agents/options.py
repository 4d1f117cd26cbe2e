"""The options of this plugin."""

from __future__ import annotations

from dataclasses import dataclass

from agentgauge.core.option import EARLIER, LAUNCH, SEVERAL, option

_NO_MODEL = "the agent has answered already, so no model is tested"
_NO_TOOL = "the agent has answered already, so no tool is called"


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
    agent_outputs: str | None = option(
        "--agent-outputs=DIR|FILE",
        "score what an agent has delivered already: a folder of outputs, or an eval pack; no agent is started, and no"
        " model is tested",
        usual="none",
        kept=EARLIER,
        fingerprint="agent",
        excludes={
            "agent": "the agent is started, or has delivered already; give one of the two",
            **dict.fromkeys(
                ("model", "model_url", "temperature", "max_tokens", "batch", "record", "replay"), _NO_MODEL
            ),
            "tool_server": _NO_TOOL,
            "rescore": "a rescored run has the agent's answers already",
            SEVERAL: "there is one agent; score each agent's outputs by itself",
            LAUNCH: "the outputs lie on this machine",
        },
    )
