"""Helper processes of a run: servers of tools and of similarity.

A service is a command that listens on the socket of ``core.processes.given_listener``, prints one line of JSON
when it is ready, and ends on SIGTERM. The controller opens the socket, so that the address is known and connections
queue before the service is ready. The controller starts each service once; the workers only get the address. The
controller restarts a service that dies behind the same socket, a bounded number of times, so that running cases find
the service at its address.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import home_variables
from agentgauge.core.processes import BACKLOG, LISTENER, PARENT
from agentgauge.core.redaction import printed

START_SECONDS = 60.0
"""How long a service may take to become ready. OCR models load lazily, so the time is needed only for imports on a busy
machine."""

STOP_SECONDS = 5.0
LOG_SECONDS = 1.0
"""How long to wait for the last lines of a log, because a child of the process may live on and keep the stream open."""
LONGEST_LINE = 1 << 20
"""Bytes of a line of a log; a longer one is looked at in pieces."""
MOST_LOG = 8 << 20
"""Bytes of a log. What comes then goes to a new file; the full one is kept beside it, as NAME.log.1, until the next."""
RESTARTS = 3


class Service:
    """One helper process, started and watched over by a thread."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name = name
        self.url = ""  # from ``spawn`` on
        self.restarts = 0
        self._command = list(command)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # nothing is started once it is stopping
        self._stopping = threading.Event()
        self._settled = threading.Event()  # it is ready, or did not start
        self._problem: UsageProblem | None = None
        self._watcher: threading.Thread | None = None
        self._logging: threading.Thread | None = None  # writes the log of the process

    def start(self) -> str:
        """Start it and wait until it is ready; returns its address. Raises UsageProblem with the end of its output."""
        self.spawn()
        self.ready()
        return self.url

    def spawn(self, failed: Callable[[UsageProblem], None] = lambda problem: None) -> None:
        """Start the service without waiting for it. Early connections to ``url`` queue until the service is ready.
        ``failed`` is called, in another thread, if the service does not start or is gone for good."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            self._start(listener)
        except BaseException:
            listener.close()
            raise
        self._watcher = threading.Thread(
            target=self._watch, args=(listener, failed), name=f"agentgauge-{self.name}", daemon=True
        )
        self._watcher.start()

    def ready(self) -> None:
        """Wait after ``spawn`` until it is ready. Raises UsageProblem with the end of its output."""
        self._settled.wait()
        if self._problem:
            raise self._problem

    def tell_to_end(self) -> None:
        """Ask the service to end, without waiting. ``stop`` must follow."""
        with self._lock:
            was_stopping = self._stopping.is_set()
            self._stopping.set()
        if self._process and not was_stopping:
            _signal_group(self._process, signal.SIGTERM)

    def stop(self) -> None:
        """End the service and all its child processes. Safe to call twice."""
        self.tell_to_end()
        if self._watcher is None:
            return
        if process := self._process:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _signal_group(process, signal.SIGKILL)
                process.wait()
        self._watcher.join(STOP_SECONDS)
        if self._logging:
            self._logging.join(LOG_SECONDS)
        self._process = self._watcher = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _spawned(self, listener: socket.socket) -> subprocess.Popen[bytes]:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.touch()
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **home_variables(), PARENT: str(os.getpid()), LISTENER: str(listener.fileno())},
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
        assert process.stderr is not None
        self._logging = threading.Thread(
            target=_log_lines, args=(process.stderr, self._log), name=f"agentgauge-{self.name}-log", daemon=True
        )
        self._logging.start()
        return process

    # -- in the watching thread

    def _watch(self, listener: socket.socket, failed: Callable[[UsageProblem], None]) -> None:
        with listener:  # closing it refuses the queued connections
            try:
                self._await()
            except UsageProblem as problem:
                if not self._stopping.is_set():
                    self._problem = problem
                    failed(problem)
                return
            finally:
                self._settled.set()
            while (process := self._process) is not None:
                process.wait()
                _close_output(process)
                if not self._start_again(listener):
                    break
            if not self._stopping.is_set():
                failed(UsageProblem(f"the {self.name} ended {RESTARTS + 1} times: {self._last_words()}"))

    def _start(self, listener: socket.socket) -> None:
        with self._lock:
            if self._stopping.is_set():
                raise UsageProblem(f"the {self.name} was stopped before it was started")
            try:
                self._process = self._spawned(listener)
            except OSError as error:
                raise UsageProblem(f"the {self.name} cannot be started: {error}") from None

    def _await(self) -> None:
        """Until the process says that it is ready at our address. One that says anything else is ended. Raises
        UsageProblem."""
        process = self._process
        assert process is not None and process.stdout is not None
        line = _first_line(process.stdout, START_SECONDS)
        try:
            url = json.loads(line)["url"]
        except (ValueError, KeyError, TypeError):
            url = None
        if url == self.url:
            return
        _signal_group(process, signal.SIGKILL)
        status = process.wait()
        _close_output(process)
        if url is None:
            raise UsageProblem(f"the {self.name} did not start (status {status}): {self._last_words()}")
        raise UsageProblem(
            f"the {self.name} listens at {url} instead of the socket that"
            " agentgauge.core.processes.given_listener returns"
        )

    def _start_again(self, listener: socket.socket) -> bool:
        """As often as it may; whether it is there again."""
        while not self._stopping.is_set() and self.restarts < RESTARTS:
            self.restarts += 1
            try:
                self._start(listener)
                self._await()
            except UsageProblem:
                self._stopping.wait(0.5)  # what ended it may pass
                continue
            return True
        return False

    def _last_words(self) -> str:
        if self._logging:
            self._logging.join(LOG_SECONDS)
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


def _log_lines(stream: IO[bytes], log: Path) -> None:
    """Write what a process prints, line by line as it comes, without secrets: libraries print addresses and headers of
    requests. Until its last child has closed the stream; a disk that is full must not stop it from printing."""
    with stream:
        while line := stream.readline(LONGEST_LINE):
            with contextlib.suppress(OSError):
                if log.exists() and log.stat().st_size >= MOST_LOG:
                    log.replace(log.with_name(f"{log.name}.1"))
                with log.open("ab", buffering=0) as file:
                    file.write(printed(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))


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
