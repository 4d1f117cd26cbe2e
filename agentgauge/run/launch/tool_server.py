"""A tool server for a launch: one on this machine, whose tools run on the cluster."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import printed
from agentgauge.core.service_process import PARENT, TOOL_TOKEN


def start_tool_server(address: str, settings_file: Path | None) -> str:
    """Start ``agentgauge serve-tools --ray`` and return its URL. It ends with this process.

    ``address``: of Ray. Sets the environment variable with the token that clients need. Raises UsageProblem with the
    server's last words if it does not start.
    """
    os.environ.setdefault(TOOL_TOKEN, secrets.token_urlsafe(32))
    command = [sys.executable, "-m", "tool_impls.server.command", "--ray", address, "--port", "0"]
    command += ["--host", _own_address(address)]
    command += ["--settings", str(settings_file)] if settings_file else []
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, PARENT: str(os.getpid())},
            start_new_session=True,  # Ctrl-C is the run's to handle
        )
        assert server.stdout is not None
        line = server.stdout.readline()
        if line:
            return str(json.loads(line)["url"])
        status = server.wait()
        log.seek(0)
        words = log.read().decode("utf-8", "replace").strip().splitlines() or ["it printed nothing"]
    raise UsageProblem(f"the tool server did not start (status {status}): {printed(words[-1])}")


def _own_address(address: str) -> str:
    """The address of this machine under which the nodes of the cluster reach it."""
    host = (os.environ.get("RAY_ADDRESS", "") if address == "auto" else address).rpartition(":")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outer:
        try:
            outer.connect((host or "192.0.2.1", 9))  # sends nothing: it finds the address that leads there
        except OSError:
            return "127.0.0.1"  # this machine has no network
        return str(outer.getsockname()[0])
