"""Helper processes of a run: the embedded model's server and the tool server.

A service is a command that prints one line of JSON, ``{"url": ...}``, when it is ready, and ends on SIGTERM.
The controller starts each once; the workers only get the address. A service that dies is started again on the same
port, a bounded number of times, so that cases in flight find it where it was.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from harness.errors import UsageProblem

START_SECONDS = 60.0
"""How long a service may take to become ready. OCR models load lazily, so this is imports on a busy machine."""

STOP_SECONDS = 5.0
RESTARTS = 3
PARENT = "AGENTGAUGE_PARENT"
"""Environment variable with the process id of a service's controller."""


def end_with_parent() -> None:
    """For a service to call first: it then gets SIGTERM when its controller dies, even by kill -9. Linux only."""
    parent = os.environ.get(PARENT)
    if parent is None or sys.platform != "linux":
        return
    _ask_for_the_end()
    if os.getppid() != int(parent):  # it died before we asked
        raise SystemExit(1)


def end_with(controller: int) -> None:
    """The same for a worker that this process id has started itself: it would ask the model for cases that nobody waits for, and
    write beside the workers of a resumed run. Linux only, and not for workers behind another process, such as on another machine."""
    if sys.platform == "linux" and os.getppid() == controller:
        _ask_for_the_end()


def _ask_for_the_end() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


PR_SET_PDEATHSIG = 1


class Service:
    """One helper process, watched by a thread."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.url = ""
        self.restarts = 0
        self._command = list(command)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self) -> str:
        """Start it and wait until it is ready; returns its address. Raises UsageProblem with its last words."""
        self.spawn()
        return self.ready()

    def spawn(self) -> None:
        """Start it, and go on."""
        self._process = self._spawned(self._command)

    def ready(self) -> str:
        """Wait until it is ready after ``spawn``; as ``start``."""
        self.url = self._address()
        self._watcher = threading.Thread(target=self._watch, name=f"agentgauge-{self.name}", daemon=True)
        self._watcher.start()
        return self.url

    def stop(self) -> None:
        """End it and everything it started. Safe to call twice."""
        self._stopping.set()
        process = self._process
        if process is None:
            return
        _signal_group(process, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            _signal_group(process, signal.SIGKILL)
            process.wait()
        _close_output(process)
        if self._watcher:
            self._watcher.join(STOP_SECONDS)
        self._process = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _spawned(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, PARENT: str(os.getpid())},
                start_new_session=True,
            )

    def _address(self) -> str:
        """What the process says when it is ready. One that says nothing of the kind is ended. Raises UsageProblem."""
        process = self._process
        assert process is not None and process.stdout is not None
        line = _first_line(process.stdout, START_SECONDS)
        try:
            return str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            _signal_group(process, signal.SIGKILL)
            status = process.wait()
            _close_output(process)
            self._process = None
            raise UsageProblem(f"the {self.name} did not start (status {status}): {self._last_words()}") from None

    def _watch(self) -> None:
        while (process := self._process) is not None:
            process.wait()
            _close_output(process)
            if not self._start_again():
                return

    def _start_again(self) -> bool:
        """On its port, as often as it may; whether it is there again."""
        while not self._stopping.is_set() and self.restarts < RESTARTS:
            self.restarts += 1
            try:
                self._process = self._spawned([*self._command, "--port", str(urlsplit(self.url).port)])  # the last --port wins
                self._address()
            except UsageProblem:
                self._stopping.wait(0.5)  # the port may still be held
                continue
            if self._process and self._stopping.is_set():  # ``stop`` saw the one before
                _signal_group(self._process, signal.SIGTERM)
            return True
        return False

    def _last_words(self) -> str:
        text = self._log.read_text(encoding="utf-8", errors="replace").strip() if self._log.exists() else ""
        return text.splitlines()[-1] if text else f"it printed nothing; its log is {self._log}"


def _first_line(stream: IO[bytes], seconds: float) -> bytes:
    """The first line that a process prints, or what came before it ended or the time was up."""
    deadline = time.monotonic() + seconds
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while not data.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                break
            chunk = os.read(stream.fileno(), 4096)
            if not chunk:
                break
            data += chunk
    return data


def _close_output(process: subprocess.Popen[bytes]) -> None:
    """The pipe that its first line came through."""
    if process.stdout:
        process.stdout.close()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the service and its children: it leads a process group of its own."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return  # it ended between the question and the signal
