"""One call of a program that has a preset: what is written into its folder, its last words and its variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from agentgauge.core.agents import AgentTask
from agentgauge.plugins.agents.presets import Preset, filled
from agentgauge.plugins.agents.prompt import SERVER, prompt_text

PROMPT = "prompt.md"
LONGEST = 100_000
"""Bytes of a prompt among the words of a command; Linux allows 128 KiB for a word."""


def set_up(
    preset: Preset, task: AgentTask, folder: Path, env: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Write the program's settings, and a prompt that is too long for a command. Returns the words to add to the
    command, and all variables. ``env``: those that every agent gets."""
    has_server = "AGENTGAUGE_MCP_URL" in env
    text = prompt_text(task, server=SERVER, folder=env["AGENTGAUGE_FILES"], answer=env["AGENTGAUGE_ANSWER"])
    if len(text.encode("utf-8", "replace")) > LONGEST:
        (folder / PROMPT).write_text(text, encoding="utf-8", errors="replace")
        text = f"Your task is in the file {PROMPT} of this folder. Read the whole file, and do what it says."
    known = {**env, "prompt": text, "endpoint": env["AGENTGAUGE_MODEL_URL"].removesuffix("/v1")}
    if preset.settings:
        servers = {preset.servers: {SERVER: preset.server} if has_server else {}}
        file = folder / preset.settings
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(filled({**preset.content, **servers}, known)), encoding="utf-8")
    words = (*(preset.server_words if has_server else ()), *preset.prompt)
    if preset.key:  # OpenAI's variables may be its own then
        env = {name: value for name, value in env.items() if not name.startswith("OPENAI_")}
    return tuple(filled(word, known) for word in words), {**env, **filled(preset.env, known)}
