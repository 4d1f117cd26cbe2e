"""Whole runs against a server that answers few requests at a time: first come, first served, those given up as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import pytest

from tests.model.fault_server import Act, FaultServer, Seen
from tests.plugin.conftest import say
from tests.plugin.project import Project

WAITS = {"AGENTGAUGE_BACKOFF": "1"}
"""As long as a user has them."""


@dataclass
class Lanes:
    """So many requests are worked on at once, each for ``seconds``; the others wait in a queue."""

    lanes: int
    seconds: Callable[[Seen], float]
    concurrent: int = 0
    most: int = 0
    requests: int = 0
    first: float = 0.0
    last: float = 0.0
    _queue: SimpleQueue[tuple[float, threading.Event]] = field(default_factory=SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        for _ in range(self.lanes):
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            seconds, done = self._queue.get()
            time.sleep(seconds)
            done.set()

    def __call__(self, seen: Seen) -> Act:
        answer = say(seen)

        def act(connection, _seen, stopped):
            done = threading.Event()
            with self._lock:
                self.first = self.first or time.monotonic()
                self.requests += 1
                self.concurrent += 1
                self.most = max(self.most, self.concurrent)
            self._queue.put((self.seconds(seen), done))
            done.wait()
            with self._lock:
                self.concurrent -= 1
                self.last = time.monotonic()
            return answer(connection, seen, stopped)

        return act


def run(path, server: Lanes, *options: str, timeout: float, cases: int = 64):
    """One run, in which every case is scored. Returns the seconds from the first request to the last answer."""
    project = Project.make(path / "project", samples=cases)
    with FaultServer(choose=server) as endpoint:
        table = f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\ntimeout = {timeout}\n'
        (project.path / "agentgauge.toml").write_text(table)
        result = project.run("--model", "m", "--run-dir", "run", *options, env=WAITS, seconds=500)
    assert result.status == 0, result.output
    task = result.summary("run")["tasks"]["toy.say"]
    assert (task["passed"], task["wrong"], task["broken"], task["missing"]) == (cases - 1, 1, 0, 0), task
    return server.last - server.first


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_server_that_answers_one_request_at_a_time_scores_every_case(tmp_path, workers):
    server = Lanes(1, lambda _seen: 0.05)
    assert run(tmp_path, server, *workers, timeout=1.0) <= 1.3 * 64 * 0.05
    assert server.requests <= 1.3 * 64
    assert server.most <= 20  # as many as it answers within the time-out


def test_a_server_that_has_four_lanes_is_kept_busy(tmp_path):
    server = Lanes(4, lambda _seen: 0.1)
    assert run(tmp_path, server, timeout=1.5) <= 1.3 * 64 * 0.1 / 4
    assert server.requests <= 1.1 * 64


def test_the_tail_of_the_latencies_is_no_queue(tmp_path):
    """Every eighth answer takes ten times as long as the others, and all are worked on at once."""

    def seconds(seen):
        return 1.0 if int(seen.body["messages"][-1]["content"].split("word")[-1]) % 8 == 0 else 0.1

    server = Lanes(64, seconds)
    run(tmp_path, server, timeout=5.0)
    assert server.most >= 24 and server.requests == 64


@pytest.mark.faults
@pytest.mark.parametrize("workers", [("-n", "0"), ("-n", "2"), ("-n", "4")], ids=["n0", "n2", "n4"])
@pytest.mark.parametrize(("seconds", "timeout"), [(0.5, 10.0), (0.5, 12.0), (0.25, 6.0), (0.5, 600.0)])
def test_a_laptop_scores_every_case(tmp_path, workers, seconds, timeout):
    """Also 5 s and 120 s, of which a tenth and a twentieth; and the default time-out."""
    server = Lanes(1, lambda _seen: seconds)
    begin = time.monotonic()
    run(tmp_path, server, *workers, timeout=timeout)
    assert time.monotonic() - begin <= 1.3 * 64 * seconds
