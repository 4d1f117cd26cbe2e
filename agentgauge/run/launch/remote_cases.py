"""The driver's side of a launch: cuts cases into shards, has them run elsewhere, and stores what comes back."""

from __future__ import annotations

import logging
import shutil
import tarfile
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cannot_write
from agentgauge.core.types import Record
from agentgauge.run.crashes import CAUSE, GUILTY
from agentgauge.run.launch.node import ShardCommand, ShardSpec, unpack
from agentgauge.run.launch_settings import LaunchOptions
from agentgauge.run.partition import shares
from agentgauge.run.planned import OWN, Given, Planned
from agentgauge.run.runner import STOPPED, WATCH_SECONDS
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import UNREADABLE, CaseId, outlined

SHARDS_A_WORKER = 4
"""Shards of a plan for each worker. Shards are small, so a slow one, or one whose node dies, delays the run little."""
TRIES = 3
"""After so many attempts without a single record a shard is given up, and its cases are missing."""
LOOK_SECONDS = 0.2
"""How long the driver waits for messages before it checks whether the run was stopped."""
END_SECONDS = 9.0
"""How long shards may take to end after the run has ended."""


USAGE_ERROR = 4
"""pytest's exit status for a problem that the user must fix."""


QUIET_SECONDS = 60.0
"""After so many seconds without a running shard, a warning appears."""

T = TypeVar("T")


class ShardFailed(Exception):
    """A shard ended without a final message, for example because its node died."""


class Backend(Protocol):
    """Runs ``run_shard`` of ``agentgauge.run.launch.node`` elsewhere. Used by one thread."""

    def start(self, number: int, spec: ShardSpec, *, with_data: bool) -> None:
        """Start a shard as soon as the cluster has free resources. ``with_data``: the data is sent along."""

    def messages(self, seconds: float) -> Iterator[tuple[int, Mapping[str, Any] | ShardFailed]]:
        """The new messages of shards, by number. Waits at most so long for the first message. The last message of a
        shard is of kind refused, data or ended, or a ShardFailed."""

    def send_command(self, command: ShardCommand) -> None:
        """Send a command to all shards."""

    def drop(self, number: int) -> None:
        """End a shard. It sends no further message."""

    def close(self) -> None:
        """End the running shards."""


@dataclass
class _Shard:
    cases: dict[CaseId, Planned]  # without a record so far
    number: int = -1  # of those that run at a time, from 0
    tries: int = 0  # since the last finished case
    with_data: bool = False
    is_running: bool = False  # a message has come from it


class RemoteCases:
    """Owns the cases of a driver, as ``Background`` owns those of a worker. Its public methods are called from pytest's
    thread."""

    def __init__(
        self,
        options: LaunchOptions,
        folder: RunFolder,
        backend: Backend,
        spec: Callable[[Sequence[CaseId], int], ShardSpec],
        *,
        configs: Mapping[str, str],
        is_stopped: Callable[[], bool],
        started: Callable[[Mapping[str, Any], Sequence[str]], bool],
        failed: Callable[[UsageProblem], None],
        full: Callable[[str], None],
    ) -> None:
        """``spec``: what a shard of these cases is to do, and its number among those that run. ``configs``: task →
        fingerprint of its settings.

        Called in another thread: ``started``, with the tools of a shard and what confines its programs, returns whether
        they are those of the run; ``failed`` if no shard can run; ``full``, with a sentence, if the run folder cannot
        be written."""
        self._options = options
        self._folder = folder
        self._backend = backend
        self._spec = spec
        self._configs = configs
        self._is_stopped = is_stopped
        self._on_started = started
        self._on_failed = failed
        self._on_full = full
        self._appender = folder.appender("launch")
        self._known: set[CaseId] = set()  # submitted, and not asked for yet; belongs to pytest's thread
        self._changed = threading.Condition()  # guards what follows
        self._queue: deque[_Shard] = deque()
        self._done: dict[CaseId, Line | Record | Exception] = {}  # and not asked for yet
        self._ended_cases: deque[CaseId] = deque()  # in the order of their ends, and not returned by ``next_done`` yet
        self._command: ShardCommand = ""
        self._running: dict[int, _Shard] = {}  # belongs to the launch's thread, with what follows
        self._next = 0
        self._sent_command: ShardCommand = ""
        self._quiet_since = time.monotonic()  # with shards, none of which runs
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="agentgauge-launch", daemon=True)
        self._thread.start()

    # -- on pytest's thread

    def submit(self, cases: Iterable[Planned], given: Given = OWN) -> None:
        """Cut cases into shards, and append them to the waiting shards. What tests give is found out where they run."""
        fresh = [case for case in cases if case.id not in self._known]
        self._known.update(case.id for case in fresh)
        parts = shares(fresh, min(len(fresh), SHARDS_A_WORKER * self._options.workers)) if fresh else []
        shards = [_Shard({fresh[place].id: fresh[place] for place in part}) for part in parts if part]
        with self._changed:
            self._queue.extend(shards)

    def result(self, case: Planned, given: Given = OWN) -> Line | Record:
        """As ``Background.result``. Raises OSError where the record could not be stored."""
        if case.id not in self._known:
            with self._changed:
                self._queue.appendleft(_Shard({case.id: case}))
        self._wait(lambda: case.id in self._done or None)
        self._known.discard(case.id)
        with self._changed:
            result = self._done.pop(case.id, _missing(case.id, STOPPED))
        if isinstance(result, Exception):
            raise result
        return result

    def is_submitted(self, case: Planned) -> bool:
        """Whether a case was submitted, and not asked for yet."""
        return case.id in self._known

    def next_done(self, waiting: Container[CaseId]) -> CaseId | None:
        """Wait until one of the ``waiting`` cases has ended: the one that ended first. None if none ends any more."""

        def first() -> CaseId | None:
            while self._ended_cases:
                if (case := self._ended_cases.popleft()) in waiting:
                    return case
            return None

        return self._wait(first)

    def _wait(self, ready: Callable[[], T | None]) -> T | None:
        """Wait until ``ready``, which is called with the lock, returns something; None if no case ends any more."""
        while True:
            with self._changed:
                if found := self._changed.wait_for(ready, WATCH_SECONDS):
                    return found
            if not self._thread.is_alive():
                return None

    def hold(self) -> None:
        """Start no new case; running cases may end."""
        with self._changed:
            self._command = self._command or "hold"

    def is_idle(self) -> bool:
        """Whether no shard runs, once ``hold`` was called."""
        return not self._running or not self._thread.is_alive()

    def close(self) -> None:
        """End all shards. Cases that finish within END_SECONDS are still stored."""
        with self._changed:
            self._command = "end"
        self._thread.join()
        if not self._is_closed:
            self._is_closed = True
            self._appender.close()

    # -- on the launch's thread

    def _run(self) -> None:
        deadline = float("inf")
        try:
            while time.monotonic() < deadline:
                command = self._apply_command()
                if command == "end":
                    deadline = min(deadline, time.monotonic() + END_SECONDS)
                    if not self._running:
                        break
                self._start_shards()
                for number, message in self._backend.messages(LOOK_SECONDS):
                    self._take(number, message)
                self._warn_if_none_runs()
        except Exception as error:  # pytest must not wait for cases that nothing runs any more
            self._give_up(error)
        finally:
            self._give_up(None)
            self._backend.close()

    def _apply_command(self) -> ShardCommand:
        """Pass on what is to be said to the shards. While they are held, waiting cases are missing."""
        with self._changed:
            if not self._command and self._running and self._is_stopped():
                self._command = "hold"
            command = self._command
        if command != self._sent_command:
            self._sent_command = command
            self._backend.send_command(command)
        if command:
            with self._changed:
                waiting = [case for shard in self._queue for case in shard.cases]
                self._queue.clear()
            self._set_done({case: _missing(case, STOPPED) for case in waiting})
            for number in [number for number, shard in self._running.items() if not shard.is_running]:
                self._drop(number, STOPPED)
        return command

    def _warn_if_none_runs(self) -> None:
        if not self._running or any(shard.is_running for shard in self._running.values()):
            self._quiet_since = time.monotonic()
        elif time.monotonic() - self._quiet_since > QUIET_SECONDS:
            self._quiet_since = time.monotonic()
            text = "warning: no shard has started for %g s: the cluster has no free resources; Ctrl-C ends the run"
            logging.getLogger("agentgauge.ray").warning(text, QUIET_SECONDS)

    def _start_shards(self) -> None:
        free = set(range(self._options.workers)) - {shard.number for shard in self._running.values()}
        with self._changed:
            ready = [self._queue.popleft() for _ in range(min(len(free), len(self._queue)))]
        for number, shard in zip(sorted(free), ready, strict=False):
            shard.number = number
            self._next += 1
            self._running[self._next] = shard
            self._backend.start(self._next, self._spec(list(shard.cases), number), with_data=shard.with_data)

    def _take(self, number: int, message: Mapping[str, Any] | ShardFailed) -> None:
        shard = self._running.get(number)
        if shard is None:
            return  # it was dropped
        shard.is_running = True
        kind = "failed" if isinstance(message, ShardFailed) else message["kind"]
        if isinstance(message, ShardFailed):
            self._ended(number, str(message))
        elif kind == "started":
            if not self._on_started(message["tools"], message["sandbox"]):
                self.hold()
                self._drop(number, STOPPED)
        elif kind == "records":
            try:
                for place, line in enumerate(message["lines"]):
                    self._store(shard, line, message["files"].get(place))
            except (tarfile.TarError, *UNREADABLE) as error:
                self._drop(number, f"it sent what is not a record: {error!r}")
        elif kind == "data":
            shard.with_data = True
            shard.tries -= 1  # nothing has failed
            self._ended(number, "")
        elif kind == "refused":
            self._refuse(message["why"])
            self._ended(number, message["why"])
        else:
            if message["status"] == USAGE_ERROR and shard.cases and not self._command:
                self._refuse(f"a shard cannot run: {message['last_line']}")
            why = f"pytest ended with exit status {message['status']}: {message['last_line']}"
            self._ended(number, why, [tuple(case) for case in message["running"]])

    def _drop(self, number: int, why: str) -> None:
        self._backend.drop(number)
        self._ended(number, why)

    def _refuse(self, why: str) -> None:
        self._on_failed(UsageProblem(why))
        self.hold()

    def _store(self, shard: _Shard, line: bytes, files: bytes | None) -> None:
        """Raises one of UNREADABLE, or TarError."""
        data = outlined(line)
        case: CaseId = (data["task"], data["sample"], data["attempt"])
        if case not in shard.cases:
            return  # no node names a folder of its own choice, and no record comes twice
        result: Line | Exception
        try:
            if files is not None:
                target = self._folder.files(*case)
                shutil.rmtree(target, ignore_errors=True)  # of an earlier session
                target.mkdir(parents=True)
                unpack(files, target)
            result = self._appender.append_line(line)
        except OSError as error:  # the disk is full: ``result`` raises it
            result = error
            self._on_full(cannot_write(self._folder.path, error))
        else:
            shard.tries = 0 if result.finished else shard.tries
        del shard.cases[case]
        self._set_done({case: result})

    def _ended(self, number: int, why: str, running: Collection[CaseId] = ()) -> None:
        """What is left of a shard runs again, unless the run is to end, or it fails each time. ``running``: cases that
        were running when its process died; each of them becomes a shard of its own, which is given up when its process
        dies, too."""
        shard = self._running.pop(number)
        shard.is_running = False
        shard.tries += 1
        if not shard.cases:
            return
        suspects = [case for case in running if case in shard.cases]
        with self._changed:
            held = bool(self._command)
            if not held and suspects and len(shard.cases) > 1:
                alone = [_Shard({case: shard.cases.pop(case)}, tries=1, with_data=shard.with_data) for case in suspects]
                rest = [replace(shard, tries=0)] if shard.cases else []
                self._queue.extendleft(reversed([*alone, *rest]))
                return
            if not held and shard.tries < TRIES and not (suspects and shard.tries > 1):
                self._queue.appendleft(shard)
                return
        if suspects and not held:
            self._set_done({case: self._broken(case, why) for case in suspects})
            return
        text = STOPPED if held else f"not run: {TRIES} shards with it ended without a record; the last: {why}"
        self._set_done({case: _missing(case, text) for case in shard.cases})

    def _broken(self, case: CaseId, why: str) -> Line | Exception:
        """Store the record of a case that has killed its process."""
        error = f"{GUILTY} ({why})"
        record = Record(*case, config=self._configs[case[0]], status="broken", error=error, cause=CAUSE)
        try:
            return self._appender.append(replace(record, worker="launch", finished=time.time()))
        except OSError as problem:
            self._on_full(cannot_write(self._folder.path, problem))
            return problem

    def _give_up(self, error: Exception | None) -> None:
        with self._changed:
            shards = [*self._queue, *self._running.values()]
            self._queue.clear()
            self._running.clear()
        cases = [case for shard in shards for case in shard.cases]
        self._set_done({case: error or _missing(case, STOPPED) for case in cases})

    def _set_done(self, done: Mapping[CaseId, Line | Record | Exception]) -> None:
        with self._changed:
            self._done.update(done)
            self._ended_cases.extend(done)
            self._changed.notify()


def _missing(case: CaseId, why: str) -> Record:
    return Record(*case, config="", status="missing", error=why)
