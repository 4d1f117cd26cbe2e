"""The tools by the Model Context Protocol, for agents of any make."""

from __future__ import annotations

from importlib.util import find_spec

from agentgauge.core.errors import UsageProblem


def require_package(what: str) -> None:
    """Raises UsageProblem where the protocol's package is not installed. ``what``: what the user has asked for."""
    if find_spec("mcp") is None:
        raise UsageProblem(f"{what} needs the package mcp; install it with: pip install 'agentgauge[mcp]'")
