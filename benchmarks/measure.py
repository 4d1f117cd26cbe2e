"""Running a command and reading off what it cost; the endpoint beside it; taking turns."""

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

from benchmarks.memory import Watch
from tests.plugin.project import PYTEST, ROOT, Project


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


def script(module: str, *arguments: str, folder: Path) -> Cost:
    """Run one of the yardsticks beside this file."""
    arguments = (sys.executable, "-m", f"benchmarks.{module}", *arguments)
    return command(arguments, cwd=ROOT, env=dict(os.environ), log=folder / f"{module}.txt")


@contextmanager
def endpoint(latency: float = 0.2, **options: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a slow endpoint; what it did is in the dict once the block is left.

    ``latency``: seconds, the median. ``options``: of ``Draws``, and ``calls`` and ``cap``; see benchmarks.endpoint.
    """
    given = json.dumps({"median": latency, **options})
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.endpoint", given], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    done: dict[str, Any] = {}
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], done
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=10)
        done.update(json.loads(rest))


def inspect_ai() -> tuple[str, str] | None:
    """The Python that has inspect_ai, and its version: the one that INSPECT_PYTHON names, else this one. None where
    it lacks it."""
    python = os.environ.get("INSPECT_PYTHON") or sys.executable
    ask = "import importlib.metadata; print(importlib.metadata.version('inspect-ai'))"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return (python, done.stdout.strip()) if done.returncode == 0 else None


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
    """Let all run in turn, every second round in the opposite order: what disturbs a machine for a while disturbs
    all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name in (list if number % 2 == 0 else reversed)(list(contestants)):
            costs[name].append(contestants[name]())
    return costs


def pace() -> float:
    """Seconds that a fixed piece of work takes."""
    start = time.perf_counter()
    for number in range(3_000_000):
        number * number % 7
    return time.perf_counter() - start


def wall(costs: Sequence[Cost]) -> float:
    """The best of all rounds, in seconds: other work on a machine can only make a round slower."""
    return min(cost.wall for cost in costs)


def cpu(costs: Sequence[Cost]) -> float:
    return min(cost.cpu for cost in costs)
