"""Fingerprints of the tools of a running server."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any

from agentgauge.core.errors import ToolUnavailable, UsageProblem
from agentgauge.core.processes import TOOL_TOKEN, without_token
from agentgauge.core.redaction import redacted, register
from agentgauge.core.text import parse_json
from tool_impls.base import UNAVAILABLE
from tool_impls.server.openapi import read_document

ANSWER_SECONDS = 120.0  # for a server that has weights to digest first


def server_fingerprints(url: str, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Fingerprints of the named tools from a running server of ours; for another server, a digest of each tool's entry
    in its document.

    Raises UsageProblem if it does not answer as a tool server or lacks a tool, ToolUnavailable if a tool cannot work
    there.
    """
    wanted = sorted(set(names))
    url, token = without_token(url)
    token = token or os.environ.get(TOOL_TOKEN)
    register(token)
    try:
        found = _get(f"{url}/tools", token)
        if found is None:
            remote = read_document(_get(f"{url}/openapi.json", token), url)
            announced = {name: _short(tool.tool.to_json()) for name, tool in remote.items()}
            found = {name: {"backend": "another server", "announced": short} for name, short in announced.items()}
    except (OSError, ValueError, http.client.HTTPException) as error:
        status = error.code if isinstance(error, urllib.error.HTTPError) else None
        advice = "start it, or correct the address" if status is None else "correct the address"
        problem = f"does not answer as a tool server ({error}); {advice}"
        if status == 401:
            # not as a whole address: a message shows no login, so it would lose the token's place
            ways = f"in the environment variable {TOOL_TOKEN}, or as :TOKEN@ before the host of --tool-server"
            problem = f"{'does not accept this' if token else 'requires a'} token; give the one that it printed, {ways}"
        raise UsageProblem(f"--tool-server {url} {problem}") from None
    if lacking := ", ".join(name for name in wanted if name not in found):
        advice = "which selected cases offer; start it with all tools"
        raise UsageProblem(f"--tool-server {url} does not have {lacking}, {advice}")
    for name in wanted:
        if str(found[name].get("state", "")).startswith(UNAVAILABLE):
            raise ToolUnavailable(f"--tool-server {url}: {name} is {found[name]['state']}")
    return {name: found[name] for name in wanted}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the token is for the server that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _get(url: str, token: str | None) -> Any:
    """The decoded JSON at an address, None where there is nothing. Raises OSError or ValueError."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
    try:
        with opener.open(request, timeout=ANSWER_SECONDS) as reply:
            return redacted(parse_json(reply.read()))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 404:
                return None
            raise


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
