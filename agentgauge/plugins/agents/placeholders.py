"""Placeholders in an agent's command, for programs that take their task as a word or in a file of their own form."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.agents import AgentTask
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.plugins.agents.answer import ANSWER
from agentgauge.plugins.agents.deliveries import FOLDER
from agentgauge.plugins.agents.prompt import SERVER, prompt_text

PROMPT, PROMPT_FILE, FILES, MCP_CONFIG = KNOWN = ("prompt", "prompt_file", "files", "mcp_config")
_FILE_OF = {PROMPT_FILE: "prompt.txt", MCP_CONFIG: "mcp.json"}
_LONGEST = 128 << 10  # bytes, less one, of a word of a command; the kernel's limit
_KNOWN = re.compile(r"\{(" + "|".join(KNOWN) + r")\}")
_BRACED = re.compile(r"\{([a-z_]+)\}")


def refuse_unknown(words: Sequence[str]) -> None:
    """Raises UsageProblem for a placeholder that means nothing. A word that names a file may have braces, and so may
    one with blanks, which is code: ``my-agent | awk '{print}'``."""
    plain = (word for word in words if not re.search(r"\s", word) and not Path(word).is_file())
    named = (name for word in plain for name in _BRACED.findall(word))
    if (unknown := next((name for name in named if name not in KNOWN), None)) is not None:
        known = ", ".join(f"{{{name}}}" for name in KNOWN)
        raise UsageProblem(f"--agent: {{{unknown}}} is not a placeholder; known are {known}")


def filled(words: Sequence[str], task: AgentTask, folder: Path, mcp: tuple[str, str] | None) -> list[str]:
    """The words for one task. Writes the files that they name into the agent's folder. Placeholders inside inserted
    values are not replaced. ``mcp``: address and token of the tools' server, if there is one. Raises Fault for a word
    that is longer than the kernel accepts."""
    used = {name for word in words for name in _KNOWN.findall(word)}
    values = {FILES: str(folder / FOLDER)} | {name: str(folder / file) for name, file in _FILE_OF.items()}
    if used & {PROMPT, PROMPT_FILE}:
        server = SERVER if MCP_CONFIG in used else ""
        answer = str(folder / ANSWER)
        values[PROMPT] = prompt_text(task, server=server, folder=values[FILES], answer=answer)
    if PROMPT_FILE in used:
        Path(values[PROMPT_FILE]).write_text(values[PROMPT], encoding="utf-8", errors="replace")
    if MCP_CONFIG in used:
        Path(values[MCP_CONFIG]).write_text(_mcp_config(mcp), encoding="utf-8")
    made = [_KNOWN.sub(lambda found: values[found[1]], word) for word in words]
    if any(len(word.encode("utf-8", "replace")) >= _LONGEST for word in made):
        advice = "write {prompt_file} instead of {prompt}"
        raise Fault(f"the request is too long for a word of a command; {advice}", cause="agent failed")
    return made


def _mcp_config(mcp: tuple[str, str] | None) -> str:
    """In the form that most clients read."""
    servers = {}
    if mcp:
        url, token = mcp
        servers[SERVER] = {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    return json.dumps({"mcpServers": servers})
