"""The tools by the Model Context Protocol, for agents of any make, and how a program gets access to a session."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Json


def require_package(what: str) -> None:
    """Raises UsageProblem where the protocol's package is not installed. ``what``: what the user has asked for."""
    if find_spec("mcp") is None:
        raise UsageProblem(f"{what} needs the package mcp; install it with: pip install 'agentgauge[mcp]'")


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
