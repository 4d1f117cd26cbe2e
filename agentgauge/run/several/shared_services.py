"""Services that several runs share: the launcher starts one for each command that a run asks for.

A run asks at a socket that it has inherited, so that no other process can have commands started.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.run.launch_settings import Shared
from agentgauge.run.services import Service
from agentgauge.run.several.parent import LOGS
from agentgauge.sandbox import hide
from agentgauge.sandbox.paths import HIDDEN

_LARGEST = 1 << 18  # bytes of a message


def made_service(name: str, command: Sequence[str], log: Path, shared: Shared | None) -> Service:
    """A service of a run: its own, or one that it shares."""
    return Service(name, command, log) if shared is None else _SharedService(name, command, log, shared)


class _SharedService(Service):
    """A service that the launcher starts, watches and stops. Requests queue until it is ready."""

    def __init__(self, name: str, command: Sequence[str], log: Path, shared: Shared) -> None:
        super().__init__(name, command, log)
        self._order = {"name": name, "command": list(command), "log": log.name}
        self._socket = shared.services

    def spawn(self, failed: Callable[[UsageProblem], None] = lambda problem: None) -> None:
        """Raises UsageProblem if it cannot be started. If it fails later, the launcher stops all runs."""
        order = {**self._order, "hidden": os.environ.get(HIDDEN, "")}
        with socket.socket(fileno=os.dup(self._socket)) as asked:
            asked.send(json.dumps(order).encode())
            answer = json.loads(asked.recv(_LARGEST) or b'{"problem": "the launcher of this run has ended"}')
        if "problem" in answer:
            raise UsageProblem(answer["problem"])
        self.url = answer["url"]

    def tell_to_end(self) -> None:
        pass

    def stop(self) -> None:
        pass


class SharedServices:
    """The launcher's side."""

    def __init__(self, folder: Path, failed: Callable[[UsageProblem], None]) -> None:
        """``folder``: of the runs; programs that tools run do not see it. ``failed`` is called, in another thread, if a
        service does not start or is gone for good."""
        self._folder = folder
        self._failed = failed
        self._by_command: dict[tuple[str, ...], Service] = {}
        hide([folder])

    def answer(self, asked: socket.socket) -> bool:
        """Answer one order of a run. False if the run has closed its end. Called in the launcher's main thread: a
        service ends with the thread that has started it."""
        try:
            message = asked.recv(_LARGEST)
        except ConnectionError:
            message = b""
        if not message:
            return False
        order = json.loads(message)
        hide(map(Path, filter(None, order["hidden"].split(os.pathsep))))
        try:
            answer = {"url": self._of(order["name"], tuple(order["command"]), order["log"])}
        except (UsageProblem, OSError) as problem:
            answer = {"problem": str(problem)}
        with suppress(OSError):  # the run has been killed
            asked.send(json.dumps(answer).encode())
        return True

    def stop(self) -> None:
        for one in self._by_command.values():
            one.tell_to_end()
        for one in self._by_command.values():
            one.stop()

    def _of(self, name: str, command: tuple[str, ...], log: str) -> str:
        if command not in self._by_command:
            made = Service(name, command, self._folder / LOGS / log)
            made.spawn(self._failed)
            self._by_command[command] = made
        return self._by_command[command].url
