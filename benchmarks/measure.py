"""Running a command and reading off what it cost in time and memory; servers beside it; taking turns."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.plugin.project import PYTEST, ROOT, Project

EVERY = 0.2  # seconds between two looks at the memory
MB = 1024 / 1e6
"""MB (10^6 bytes) in a KiB."""


@dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    wall: float  # seconds
    cpu: float  # seconds, user and system, of the process and the children that it waited for
    memory: float = 0.0  # MB (10^6 bytes), most of the process and all below it together
    own: float = 0.0  # MB, the peak of the process itself
    child: float = 0.0  # MB, the largest peak of one process below it


def command(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, expect: tuple[int, ...] = (0,)
) -> Cost:
    """Run a command to its end. Raises AssertionError with what it wrote where it ends with another status."""
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen(arguments, cwd=cwd, env=env, stdout=output, stderr=output)
        watch = Watch(process.pid)
        watcher = threading.Thread(target=watch.run, daemon=True)
        watcher.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
        except BaseException:  # Ctrl-C: leave nothing running
            process.terminate()
            process.wait()
            raise
        finally:
            watch.stop.set()
            watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in expect, log.read_text()[-4000:]
    return Cost(wall, used.ru_utime + used.ru_stime, watch.together, watch.own, watch.child)


def run(project: Project, *arguments: str, env: dict[str, str] | None = None, expect: tuple[int, ...] = (0,)) -> Cost:
    """Run pytest in a project's folder."""
    log, environment = project.path / "output.txt", project.environment(env)
    return command([sys.executable, *PYTEST, *arguments], cwd=project.path, env=environment, log=log, expect=expect)


@contextmanager
def endpoint(latency: float = 0.2, calls: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a slow endpoint (see benchmarks.endpoint); what it did is in the dict once the block is left."""
    command = [sys.executable, "-m", "benchmarks.endpoint", str(latency), str(calls)]
    done: dict[str, Any] = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], done
        finally:
            process.send_signal(signal.SIGTERM)
            done.update(json.loads(process.stdout.readline()))


@contextmanager
def tool_server(folder: Path, *arguments: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of a tool server without a token, whose cache lies in ``folder``."""
    command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--no-token", *arguments]
    env = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"], server.pid
        finally:
            server.terminate()


@contextmanager
def started(project: Project, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Pytest in a project's folder, while it runs. What is left of it at the end of the block is ended."""
    with (project.path / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *PYTEST, *arguments],
            cwd=project.path,
            env=project.environment(),
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


def wait_until(done: Callable[[], bool], project: Project, process: subprocess.Popen[bytes]) -> None:
    """Look twenty times a second. Raises AssertionError with what the process wrote where it ends before that."""
    while not done():
        assert process.poll() is None, (project.path / "output.txt").read_text()[-4000:]
        time.sleep(0.05)


def so_far(url: str) -> dict[str, Any]:
    """What an endpoint has done until now."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        seen: dict[str, Any] = json.load(answer)
    return seen


def toy(url: str, *options: str) -> tuple[str, ...]:
    """The options of a run of the toy benchmark against an endpoint."""
    return ("--data", "toy", "--model", "m", "--model-url", url, *options)


def processes(count: int) -> tuple[str, ...]:
    """Options for exactly so many workers. ``-n`` starts no more than there are processors; none without any."""
    return ("--tx", f"{count}*popen", "--dist", "load") if count else ("-n", "0")


def alternate(contestants: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, list[Cost]]:
    """Let all run in turn, every second round in the opposite order: what disturbs a machine disturbs all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name in (list if number % 2 == 0 else reversed)(list(contestants)):
            costs[name].append(contestants[name]())
    return costs


def wall(costs: Sequence[Cost]) -> float:
    """The best of all rounds, in seconds: other work on a machine can only make a round slower."""
    return min(cost.wall for cost in costs)


def cpu(costs: Sequence[Cost]) -> float:
    return min(cost.cpu for cost in costs)


class Watch:
    """Looks at a process and all below it until ``stop`` is set. Figures are peaks in MB of resident memory."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.stop = threading.Event()
        self.together = self.own = self.child = 0.0

    def run(self) -> None:
        while not self.stop.wait(EVERY):
            now = 0.0
            for pid in [self.pid, *below(self.pid)]:
                now += kib("VmRSS", pid) * MB
                peak = kib("VmHWM", pid) * MB
                if pid == self.pid:
                    self.own = max(self.own, peak)
                else:
                    self.child = max(self.child, peak)
            self.together = max(self.together, now)


def below(pid: int) -> list[int]:
    """The processes that descend from one, in no special order."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for word in (thread / "children").read_text().split():
                found += [int(word), *below(int(word))]
    except OSError:  # it has just ended
        pass
    return found


def machine_cpu() -> float:
    """Seconds of processor time of all processes of the machine since it started."""
    user, nice, system = map(int, Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def kib(field: str, pid: int | str = "self") -> int:
    """KiB: ``VmRSS`` now, ``VmHWM`` at the peak; 0 for a process that has ended. Of that process alone: what
    ``getrusage`` tells begins with the parent's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)
