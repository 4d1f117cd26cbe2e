"""The contract between a service process and its controller: when the service ends, where it listens, which token it
accepts.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from urllib.parse import unquote, urlsplit, urlunsplit

_PR_SET_PDEATHSIG = 1

PARENT = "AGENTGAUGE_PARENT"
"""Environment variable with the process id of a service's controller."""
LISTENER = "AGENTGAUGE_LISTENER"
"""Environment variable with the descriptor on which a service listens."""
TOOL_TOKEN = "AGENTGAUGE_TOOL_TOKEN"
"""Environment variable with the token that a tool server and its clients share. No file and no command line holds
it."""
BACKLOG = 1024
"""Connections that wait to be accepted: every worker may open several at once."""


def without_token(address: str) -> tuple[str, str | None]:
    """An address without user and password, and the password, which is the token: ``http://:TOKEN@host:port``."""
    parts = urlsplit(address)
    token = parts.password
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), unquote(token) if token else None


def end_with_parent() -> None:
    """Let this process get SIGTERM when its controller dies, even by kill -9. A service calls this first. Linux
    only.
    """
    parent = os.environ.get(PARENT)
    if parent is None or sys.platform != "linux":
        return
    _request_sigterm()
    if os.getppid() != int(parent):  # it died before we asked
        raise SystemExit(1)


def end_with(controller: int) -> None:
    """Do the same in a worker that the process ``controller`` has started. A worker that outlived its controller would
    go on sending requests, and would write beside the workers of a resumed run. Linux only."""
    if sys.platform == "linux" and os.getppid() == controller:
        _request_sigterm()


def given_listener() -> socket.socket | None:
    """The listening socket from a service's controller; None in a process that was not started as a service."""
    number = os.environ.pop(LISTENER, None)
    return socket.socket(fileno=int(number)) if number else None


def _request_sigterm() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
