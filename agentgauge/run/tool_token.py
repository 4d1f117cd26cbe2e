"""The token of a run's tool server: how the server, the workers and the clients get it.

It travels in the environment only, which other users cannot read, unlike command lines and files of a run folder.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import replace

from agentgauge.core.processes import TOOL_TOKEN, without_token
from agentgauge.core.redaction import register
from agentgauge.run.settings import Settings


def take_tool_token(settings: Settings) -> Settings:
    """Move the password of ``--tool-server`` into the environment, where clients look for it; settings lose it."""
    if settings.tool_server is None:
        return settings
    address, token = without_token(settings.tool_server)
    if token:
        os.environ[TOOL_TOKEN] = token
    return replace(settings, tool_server=address)


def make_tool_token(given: str | None = None) -> Callable[[], None]:
    """Make a token for the run's own tool server, before any worker is started. ``given``: the token of a server that
    several runs share. Returns what undoes it."""
    before = os.environ.get(TOOL_TOKEN)
    os.environ[TOOL_TOKEN] = given or secrets.token_urlsafe(32)
    register(os.environ[TOOL_TOKEN])

    def undo() -> None:
        if before is None:
            os.environ.pop(TOOL_TOKEN, None)
        else:
            os.environ[TOOL_TOKEN] = before

    return undo
