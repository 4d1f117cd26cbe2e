"""Commands and services as processes: their options, addresses and streams, and how they end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import os
import re
import secrets
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.redaction import register, register_login

# -- The parser of the commands of ``agentgauge``.


_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests an option in place of a mistyped one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but unknown arguments are an error: of the parser of the subcommand, where there is one."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and not unknown[0].startswith("-"):
            self.error(f"unexpected argument {unknown[0]!r}; --help shows what is accepted")
        if unknown:
            option = unknown[0].partition("=")[0]
            known = dict.fromkeys(_OPTION.findall(self.format_help()))
            self.error(f"there is no option {option}{did_you_mean(option, known)}; --help lists the options")
        return found, unknown


# -- Addresses of servers that options name.


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


# -- Standard output and standard error that cannot be written: a full disk, a pipe without a reader, a closed
# descriptor.


class Output:
    """A text stream that calls ``lost`` once, when it cannot be written. Everything is dropped from then on."""

    def __init__(self, stream: Any, lost: Callable[[OSError], None]) -> None:
        self._stream = stream
        self._lost = lost
        self.error: OSError | None = None  # why it cannot be written

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def close(self) -> None:
        self._try(self._stream.close)

    def _try(self, step: Callable[[], object]) -> None:
        if self.error is None:
            try:
                step()
            except OSError as error:
                self.error = error
                drop(self._stream)
                self._lost(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def drop(stream: Any) -> None:
    """Let what a stream has buffered go nowhere, because the interpreter writes that when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # it has no descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def lost_output(error: OSError) -> str:
    """The sentence about it."""
    return f"standard output cannot be written ({error.strerror or error})"


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams, because the next file would get their descriptors."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor
            os.set_inheritable(descriptor, True)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


# -- The contract between a service process and its controller: when the service ends, where it listens, which token it
# accepts.


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


# The token of a run's tool server travels in the environment only, which other users cannot read, unlike command lines
# and files of a run folder.


def kept(variable: str) -> Callable[[], None]:
    """Returns what gives a variable of the environment the value again that it has now."""
    before = os.environ.get(variable)

    def undo() -> None:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before

    return undo


_counting = threading.Lock()
_holders = 0  # runs of this process that use the token now
_give_back: Callable[[], None] = kept(TOOL_TOKEN)  # as it was before the first of them


def make_tool_token(given: str | None = None) -> Callable[[], None]:
    """Make a token for the run's own tool server, before any worker is started. Runs side by side in one process share
    it. ``given``: the token of a server that several processes share. Returns what undoes it, to be called once."""
    global _holders, _give_back
    with _counting:
        if not _holders:
            _give_back = kept(TOOL_TOKEN)
            os.environ[TOOL_TOKEN] = given or secrets.token_urlsafe(32)
            register(os.environ[TOOL_TOKEN])
        _holders += 1

    def undo() -> None:
        global _holders
        with _counting:
            _holders -= 1
            if not _holders:
                _give_back()

    return undo


# -- Accepts connections so that neither a peer that hangs up nor a lack of files ends a server or floods its log.


_RETRY = 0.1  # seconds after which a connection that could not be accepted is tried again


async def accepted(
    listening: socket.socket, room: Callable[[], Awaitable[object]], make_room: Callable[[], object] = lambda: None
) -> AsyncIterator[tuple[socket.socket, Any]]:
    """The connections that arrive at a listening socket, with their peers' addresses.

    ``room`` is awaited before each one. ``make_room`` is called where the process has too many files open to accept
    one, which is then tried again.
    """
    loop = asyncio.get_running_loop()
    listening.setblocking(False)
    while True:
        await room()
        while True:
            try:
                found = await loop.sock_accept(listening)
                break
            except ConnectionError:  # the peer has ended it
                continue
            except OSError:
                make_room()
                await asyncio.sleep(_RETRY)
        yield found
