"""The command lines of well-known agent programs: how each gets a task, tools and a model, and what it prints.

Read from the documentation and the source of these versions: Claude Code 2.1, Codex 0.171, Gemini CLI 0.61, opencode
1.18; of goose, from the documentation. In every text here, ``{NAME}`` stands for an environment variable that the
program gets, ``{prompt}`` for the task, and ``{endpoint}`` for the address of AgentGauge's endpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgauge.plugins.agents.printed import (
    Reader,
    read_claude,
    read_codex,
    read_gemini,
    read_goose,
    read_opencode,
)
from agentgauge.plugins.agents.prompt import SERVER

_BEARER = {"Authorization": "Bearer {AGENTGAUGE_MCP_TOKEN}"}
_SLOWEST = 600  # seconds of a call of a tool; some are models


@dataclass(frozen=True, slots=True)
class Preset:
    """How to use one program."""

    name: str  # of the program, and what --agent begins with
    install: str  # a command that installs it
    words: tuple[str, ...]  # behind its name; the user's own words follow
    prompt: tuple[str, ...]  # the last words
    reader: Reader  # of what it prints
    prefix: str  # what it puts before the names of the benchmark's tools
    server_words: tuple[str, ...] = ()  # before the prompt, where a task has tools
    settings: str = ""  # a file of JSON in its folder, which it reads; empty: none
    content: Mapping[str, Any] = field(default_factory=dict)  # of that file
    servers: str = ""  # the key in that file under which servers of tools stand by their names
    server: Mapping[str, Any] = field(default_factory=dict)  # what stands there for the benchmark's tools
    env: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    """The usual variable with the key of its own provider. Empty: it speaks OpenAI's chat completions, and asks the
    model of --model through AgentGauge."""
    memory_mb: int = 0  # with less it does not start

    @property
    def digest(self) -> str:
        """A digest of all that changes what the program does or how it is understood."""
        facts = [getattr(self, name) for name in self.__slots__ if name not in ("install", "reader")]
        return hashlib.sha256(repr([*facts, self.reader.__name__]).encode()).hexdigest()


_ALL = (
    Preset(
        name="claude",
        install="npm install -g @anthropic-ai/claude-code",
        words=(
            *("--print", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
            *("--strict-mcp-config", "--mcp-config", "mcp.json"),
        ),
        prompt=("--", "{prompt}"),
        reader=read_claude,
        prefix=f"mcp__{SERVER}__",
        settings="mcp.json",
        servers="mcpServers",
        server={"type": "http", "url": "{AGENTGAUGE_MCP_URL}", "headers": _BEARER},
        # it refuses to skip permissions as root outside of a sandbox
        env={"IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
        key="ANTHROPIC_API_KEY",
    ),
    # It speaks OpenAI's Responses API only, and refuses wire_api = "chat".
    Preset(
        name="codex",
        install="npm install -g @openai/codex",
        words=(
            *("exec", "--json", "--skip-git-repo-check", "--ephemeral"),
            "--dangerously-bypass-approvals-and-sandbox",
        ),
        prompt=("--", "{prompt}"),
        reader=read_codex,
        prefix=f"{SERVER}.",
        server_words=(
            "--config",
            f'mcp_servers.{SERVER}={{url="{{AGENTGAUGE_MCP_URL}}",bearer_token_env_var="AGENTGAUGE_MCP_TOKEN",'
            f"tool_timeout_sec={_SLOWEST}}}",
        ),
        key="CODEX_API_KEY",
    ),
    Preset(
        name="gemini",
        install="npm install -g @google/gemini-cli",
        words=("--output-format", "stream-json", "--yolo", "--skip-trust"),
        prompt=("--prompt={prompt}",),
        reader=read_gemini,
        prefix=f"mcp_{SERVER}_",
        settings=".gemini/settings.json",
        content={"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}},
        servers="mcpServers",
        server={
            "httpUrl": "{AGENTGAUGE_MCP_URL}",
            "headers": _BEARER,
            "timeout": _SLOWEST * 1000,
            "trust": True,
        },
        # without the option, each module of WebAssembly reserves 10 GiB of addresses
        env={"NODE_OPTIONS": "--disable-wasm-trap-handler"},
        key="GEMINI_API_KEY",
        memory_mb=8192,
    ),
    Preset(
        name="opencode",
        install="npm install -g opencode-ai",
        words=("run", "--format", "json", "--auto", "--pure", "--title", "task"),
        prompt=("--", "{prompt}"),
        reader=read_opencode,
        prefix=f"{SERVER}_",
        settings="opencode.json",
        content={
            "autoupdate": False,
            "share": "disabled",
            "model": f"{SERVER}/{{AGENTGAUGE_MODEL}}",
            "small_model": f"{SERVER}/{{AGENTGAUGE_MODEL}}",
            "provider": {
                SERVER: {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": "{AGENTGAUGE_MODEL_URL}", "apiKey": "{AGENTGAUGE_MODEL_KEY}"},
                    "models": {"{AGENTGAUGE_MODEL}": {}},
                }
            },
        },
        servers="mcp",
        server={
            "type": "remote",
            "url": "{AGENTGAUGE_MCP_URL}",
            "headers": _BEARER,
            "oauth": False,
            "timeout": _SLOWEST * 1000,
        },
        env={"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
    ),
    Preset(
        name="goose",
        install="curl -fsSL https://github.com/block/goose/releases/download/stable/download_cli.sh | bash",
        words=("run", "--no-session", "--quiet", "--with-builtin", "developer", "--output-format", "stream-json"),
        prompt=("--text={prompt}",),
        reader=read_goose,
        prefix=f"{SERVER}__",
        settings=".config/goose/config.yaml",  # JSON is YAML
        servers="extensions",
        server={
            "enabled": True,
            "type": "streamable_http",
            "name": SERVER,
            "description": "the tools of the task",
            "uri": "{AGENTGAUGE_MCP_URL}",
            "headers": _BEARER,
            "envs": {},
            "env_keys": [],
            "timeout": _SLOWEST,
        },
        env={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{AGENTGAUGE_MODEL}",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": "{endpoint}",
            # with the slash it is not goose's own default, so that no name of a model makes it the Responses API
            "OPENAI_BASE_PATH": "/v1/chat/completions",
        },
    ),
)

PRESETS = {preset.name: preset for preset in _ALL}

_PLACE = re.compile(r"\{([A-Za-z_]+)\}")


def filled(value: Any, known: Mapping[str, str]) -> Any:
    """A text, or the texts of a JSON value, with what its places stand for."""
    if isinstance(value, str):
        return _PLACE.sub(lambda place: known.get(place[1], place[0]), value)
    if isinstance(value, Mapping):
        return {filled(key, known): filled(each, known) for key, each in value.items()}
    return value
