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
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we asked
        raise SystemExit(1)


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
        self.url = self._launch(self._command)
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

    def _launch(self, command: Sequence[str]) -> str:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, PARENT: str(os.getpid())},
                start_new_session=True,
            )
        assert self._process.stdout is not None
        line = _first_line(self._process.stdout, START_SECONDS)
        try:
            url = json.loads(line)["url"]
        except (ValueError, KeyError, TypeError):
            _signal_group(self._process, signal.SIGKILL)
            status = self._process.wait()
            _close_output(self._process)
            self._process = None
            raise UsageProblem(f"the {self.name} did not start (status {status}): {self._last_words()}") from None
        return str(url)

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
                self._launch([*self._command, "--port", str(urlsplit(self.url).port)])  # the last --port wins
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
