"""Running a command and reading off what it cost, and the data sets that the benchmarks run on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.plugin.project import ROOT, Project

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Cost:
    """What one run of a command took."""

    wall: float  # seconds
    cpu: float  # seconds, user and system, of the process and the children that it waited for


def run(project: Project, *arguments: str, env: dict[str, str] | None = None, expect: tuple[int, ...] = (0,)) -> Cost:
    """Run pytest in a project's folder. Raises AssertionError with its output where it ends with another status."""
    log = project.path / "output.txt"
    with log.open("wb") as output:
        start = time.perf_counter()
        process = subprocess.Popen([*PYTEST, *arguments], cwd=project.path, env=project.environment(env), stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in expect, log.read_text()[-4000:]
    return Cost(wall, used.ru_utime + used.ru_stime)


@contextmanager
def endpoint(latency: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a slow endpoint; what it did is in the dict once the block is left. ``latency`` in seconds."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.endpoint", str(latency)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    done: dict[str, Any] = {}
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], done
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=10)
        done.update(json.loads(rest))


def bare_project(path: Path, cases: int) -> Project:
    """The yardstick: one no-op test with so many parameters, in a folder that knows nothing of us."""
    path.mkdir()
    (path / "pytest.ini").write_text("[pytest]\n")
    (path / "test_bare.py").write_text(
        f"import pytest\n\n@pytest.mark.parametrize('sample', [f's{{n}}' for n in range({cases})])\ndef test_bare(sample):\n    pass\n"
    )
    return Project(path)


LONG = """
from harness.task import announce
from tests.plugin.toy import Toy

class LongToy(Toy):
    async def run(self, case):
        return await super().run(case) | {{"padding": "x" * {padding}}}

announce(LongToy())
pytest_plugins = ["harness.plugin"]
"""


def toy_project(path: Path, cases: int, *, padding: int = 0) -> Project:
    """The toy benchmark; ``padding`` makes every record so many bytes longer."""
    project = Project.make(path, cases)
    if padding:
        (path / "conftest.py").write_text(LONG.format(padding=padding))
    return project


def gta_project(path: Path, cases: int) -> Project:
    """GTA-Atomic step by step on so many samples: the bundled ones over and over, under new keys."""
    path.mkdir()
    (path / "pytest.ini").write_text("[pytest]\n")
    (path / "conftest.py").write_text('pytest_plugins = ["harness.plugin"]\n')
    (path / "test_step.py").write_text((ROOT / "bench_gta" / "test_step.py").read_text())
    data = path / "gta_atomic"
    data.mkdir()
    mini = ROOT / "bench_gta" / "mini"
    shutil.copy(mini / "toolmeta.json", data)
    (data / "image").symlink_to(mini / "image")
    samples = cycle(json.loads((mini / "dataset.json").read_text()).values())
    (data / "dataset.json").write_text(json.dumps({str(number): next(samples) for number in range(cases)}))
    return Project(path)
