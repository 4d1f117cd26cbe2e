"""Addresses of servers that options name."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register_login


def checked_address(option: str, value: str, problem: str) -> str:
    """The address without a slash at its end; its password is registered as a secret.

    Raises UsageProblem with the option, the value and ``problem`` if it is not the address of an HTTP server.
    """
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        # A password with a slash in it ends up elsewhere than in the login, so nothing of such an address is shown.
        raise UsageProblem(f"{option} {'with a login' if '@' in value else repr(value)} {problem}")
    register_login(value)
    return value.rstrip("/")
