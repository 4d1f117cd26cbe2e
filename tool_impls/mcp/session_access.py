"""Passes a session to an agent's program: in environment variables, and as settings in the form that most clients
read."""

from __future__ import annotations

from dataclasses import dataclass

from agentgauge.core.types import Json

URL = "AGENTGAUGE_MCP_URL"
TOKEN = "AGENTGAUGE_MCP_TOKEN"


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """The address of a session and its token."""

    url: str
    token: str

    @property
    def variables(self) -> dict[str, str]:
        return {URL: self.url, TOKEN: self.token}

    @property
    def settings(self) -> Json:
        """The content of ``mcp.json``, which most clients read."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return {"mcpServers": {"agentgauge": {"type": "http", "url": self.url, "headers": headers}}}
