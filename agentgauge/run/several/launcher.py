"""Runs several pytest processes side by side, each in a run folder of its own below one parent."""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import make_tool_token
from agentgauge.core.types import Usage
from agentgauge.model.rates import FILE as RATES
from agentgauge.model.spec import ModelSpec
from agentgauge.run.coordination.stopping import MESSAGE, StopFile
from agentgauge.run.launch_settings import Handed, LaunchOptions, Shared
from agentgauge.run.live import LiveRun
from agentgauge.run.progress import RunLine
from agentgauge.run.several.beside import Beside
from agentgauge.run.several.parent import LOGS, note_finished
from agentgauge.run.several.screen import Screen
from agentgauge.run.several.shared_services import SharedServices

LOOK_SECONDS = 0.25
"""Seconds between two checks. A process that ends wakes the launcher at once."""
NOT_RUN, INTERRUPTED, USAGE_ERROR = 1, 2, 4
"""Exit statuses of pytest: of a run with missing cases, after Ctrl-C, and where the user must fix something."""


@dataclass
class Launch:
    """One run: its name, which its folder has too, and the arguments of pytest."""

    name: str
    words: Sequence[str]
    folder: Path
    live: LiveRun
    spec: ModelSpec
    status: int | None = None  # exit status, once it has ended
    before: Usage = field(default_factory=Usage)  # used by earlier sessions
    on_ray: LaunchOptions | None = None  # where its cases are solved on a cluster

    def used(self) -> Usage:
        """The usage of this session and of earlier ones."""
        state = self.live.state()
        return Usage(prompt_tokens=state["tokens"], usd=state["usd"])


@dataclass
class _Process:
    launch: Launch
    pytest: subprocess.Popen[bytes]
    asked: socket.socket
    end: int  # descriptor that can be read once the process has ended
    began: float
    line: RunLine


class Launcher:
    """Runs the launches, at most ``side_by_side`` at a time.

    It starts the services that they share, stops all of them for what plugins find beside them, and passes Ctrl-C and
    SIGTERM on to them.
    """

    def __init__(
        self,
        parent: Path,
        launches: Sequence[Launch],
        screen: Screen,
        *,
        side_by_side: int,
        beside: Sequence[Beside] = (),
    ) -> None:
        self._parent = parent
        self._launches = launches
        self._screen = screen
        self._side_by_side = side_by_side
        self._beside = beside
        self._waiting = deque(launches)
        self._running: list[_Process] = []
        self._environment = dict(os.environ)
        self._token = secrets.token_urlsafe(32)
        self._signal: int | None = None
        self._failed: UsageProblem | None = None
        self.stop_reason = ""
        """Why the runs were stopped before their ends."""

    @property
    def was_interrupted(self) -> bool:
        return self._signal is not None

    def run(self) -> int:
        """Until all have ended. Returns the worst exit status, which is the highest."""
        (self._parent / LOGS).mkdir(exist_ok=True)
        self._remove_rates()
        for each in self._beside:
            each.begin()
        self._started = time.time()
        for launch in self._launches:
            launch.live.read(self._started)
            launch.before = launch.used()
        services = SharedServices(self._parent, self._service_failed)
        with self._signals(), selectors.DefaultSelector() as selector, ExitStack() as stack:
            stack.callback(self._remove_rates)
            for each in self._beside:
                stack.callback(each.close)
            stack.callback(make_tool_token(self._token))  # for the servers that are started here
            stack.callback(services.stop)
            stack.callback(self._end_all)
            while self._running or (self._waiting and not self._is_stopping):
                while self._waiting and len(self._running) < self._side_by_side and not self._is_stopping:
                    self._start(self._waiting.popleft(), selector, services)
                for key, _ in selector.select(LOOK_SECONDS):
                    if key.fd in selector.get_map():  # its process has not just ended
                        key.data()
                self._look()
        statuses = [NOT_RUN if launch.status is None else launch.status for launch in self._launches]
        statuses += [INTERRUPTED] if self.was_interrupted else []
        return max([0, *statuses, *([USAGE_ERROR] if self._failed else [])])

    @property
    def _is_stopping(self) -> bool:
        return self.was_interrupted or bool(self.stop_reason)

    def _start(self, launch: Launch, selector: selectors.BaseSelector, services: SharedServices) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        shared = Shared(theirs.fileno(), str(self._parent.resolve() / RATES), self._token)
        handed = Handed(os.getpid(), launch.on_ray, shared=shared)
        with theirs, (self._parent / LOGS / f"{launch.name}.log").open("ab") as log:
            pytest = subprocess.Popen(
                [sys.executable, "-m", "pytest", *launch.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self._environment, **handed.variables()},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that Ctrl-C comes once
            )
        line = RunLine(launch.folder, launch.live)
        process = _Process(launch, pytest, ours, os.pidfd_open(pytest.pid), time.monotonic(), line)
        self._running.append(process)
        if self._signal is not None:  # it came while the process was started
            pytest.send_signal(self._signal)

        def asked() -> None:
            if not services.answer(ours):
                selector.unregister(ours)

        def ended() -> None:
            selector.unregister(process.end)
            if ours in selector.get_map():
                selector.unregister(ours)
            self._end(process)

        selector.register(ours, selectors.EVENT_READ, asked)
        selector.register(process.end, selectors.EVENT_READ, ended)

    def _end(self, process: _Process) -> None:
        status = process.pytest.wait()
        process.asked.close()
        os.close(process.end)
        self._running.remove(process)
        process.launch.live.read(self._started)
        for each in self._beside:
            each.ended(process.launch.name)
        if status == INTERRUPTED and self.stop_reason and not self.was_interrupted:
            status = NOT_RUN  # pytest ends so where a worker stops, which did not know why all stop
        process.launch.status = status if status >= 0 else 128 - status
        if status == 0:
            note_finished(self._parent, process.launch.name)
        seconds = time.monotonic() - process.began
        self._screen.write_line(
            f"{process.launch.name}: ended after {seconds:.1f} s, exit status {process.launch.status}"
        )
        if self._screen.is_live:
            self._draw()

    def _look(self) -> None:
        """Stop all if there is a reason, and draw the screen if it is late."""
        if not self.stop_reason and (self._running or self._waiting):
            names = [process.launch.name for process in self._running]
            reasons = (each.why_stop(names, self._used) for each in self._beside)
            self.stop_reason = next(filter(None, reasons), "")
        if self.stop_reason:
            self._stop_runs()
        if self._screen.is_late:
            self._read()
            self._draw()

    def _read(self) -> None:
        for process in self._running:
            process.launch.live.read(self._started)

    def _used(self) -> Usage:
        """By all, in this session."""
        self._read()
        found = [(launch.used(), launch.before) for launch in self._launches]
        tokens = sum(now.prompt_tokens - before.prompt_tokens for now, before in found)
        return Usage(prompt_tokens=tokens, usd=sum(now.usd - before.usd for now, before in found))

    def _stop_runs(self) -> None:
        """No run starts a further case. Called again while they end: a run that begins removes an earlier stop."""
        for process in self._running:
            file = StopFile(process.launch.folder)
            with suppress(OSError):  # its folder is not there yet, or the disk is full
                if not file.exists():
                    file.write(self.stop_reason, awaits=self._failed is None)

    def _draw(self) -> None:
        self._screen.draw([f"{run.launch.name}: {run.line.text()}" for run in self._running])

    def _remove_rates(self) -> None:
        (self._parent / RATES).unlink(missing_ok=True)

    def _service_failed(self, problem: UsageProblem) -> None:
        """Called in another thread."""
        self._failed = problem
        self.stop_reason = self.stop_reason or str(problem)

    # -- signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass SIGINT and SIGTERM on to all runs, once. Further ones change nothing, and none does once one came."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if self._signal else handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._signal is not None:
            os.write(2, MESSAGE)
            return
        self._signal = number
        for process in self._running:
            process.pytest.send_signal(number)

    def _end_all(self) -> None:
        """End what is left if the launcher fails: each run sums up what it has."""
        for process in self._running:
            process.pytest.terminate()
        for process in self._running:
            process.pytest.wait()
