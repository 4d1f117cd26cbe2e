"""Running pytest inside pytest: a project folder with a toy benchmark, in this process or in one of its own."""

from __future__ import annotations

import atexit
import codecs
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentgauge.store import plain
from tests.plugin.in_process import run_pytest
from tests.plugin.prepared import Workers

ROOT = Path(__file__).resolve().parents[2]

PYTEST = (
    "-m",
    "pytest",
    *(word for name in ("cacheprovider", "anyio", "hypothesispytest", "benchmark") for word in ("-p", f"no:{name}")),
)
"""Without traces in the folder (cacheprovider), the plugin that our own settings leave out too (anyio), and those that
these tests do not need (hypothesis, pytest-benchmark). The latter three take 0.2 s to load."""


@cache
def prepared() -> tuple[str, ...]:
    """Instead of ``sys.executable`` in a command: the program is forked from a process that has imported what it will
    import (``prepared.py``). Not for programs that get signals: the process of the command is not their own."""
    if sys.platform != "linux":
        return (sys.executable,)
    here = Path(__file__).parent
    folder = tempfile.TemporaryDirectory(prefix="prepared-")  # as short as a socket's address must be
    path = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, str(here / "prepared.py"), path],
        cwd=folder.name,
        env=Project(Path(folder.name)).environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return (sys.executable, "-I", "-S", str(here / "stand_in.py"), path)


CONFTEST = """
from tests.plugin.toy import TOY, say, toy
pytest_plugins = ["agentgauge.pytest_plugin"]
"""

OFTEN = """
from agentgauge.plugins.progress import progress
from agentgauge.run import runner
runner.WATCH_SECONDS = 0.05
progress.PLAIN_SECONDS = progress.LIVE_SECONDS = 0.1
"""
"""For a project's conftest: the progress line is drawn often."""

CASES = """
from agentgauge.pytest_plugin import benchmark_task

@benchmark_task("toy.say")
def test_say(outcome):
    outcome.check()
"""


@dataclass
class Project:
    """A folder in which pytest is run."""

    path: Path

    @staticmethod
    def make(path: Path, samples: int = 6) -> Project:
        path.mkdir(parents=True, exist_ok=True)
        (path / "conftest.py").write_text(CONFTEST)
        (path / "test_toy.py").write_text(CASES)
        (path / "pytest.ini").write_text("[pytest]\n")
        (path / "toy").mkdir(exist_ok=True)
        lines = [json.dumps({"id": f"s{number}", "say": f"word{number}"}) for number in range(samples)]
        (path / "toy" / "toy.jsonl").write_text("\n".join(lines) + "\n")
        return Project(path)

    def add_to_conftest(self, code: str) -> None:
        with (self.path / "conftest.py").open("a") as stream:
            stream.write(code)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        ours = ("PYTEST_", "AGENTGAUGE_", "GITHUB_")
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.endswith("_API_KEY") and not name.startswith(ours)
        }
        fixed = {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "reports")]),
            "AGENTGAUGE_BACKOFF": "0.01",
            "XDG_CACHE_HOME": str(self.path / ".cache"),
        }
        return clean | fixed | dict(extra or {})

    def run(
        self, *arguments: str, data: str = "toy", env: Mapping[str, str] | None = None, seconds: float = 120
    ) -> Result:
        """In this process."""
        return pytest_here("--data", data, *arguments, cwd=self.path, env=env, seconds=seconds)

    def run_process(
        self, *arguments: str, data: str = "toy", env: Mapping[str, str] | None = None, seconds: float = 120
    ) -> Result:
        """For tests of what only a process has: how it ends, its signals, limits and streams."""
        return python(*PYTEST, "--data", data, *arguments, cwd=self.path, env=env, seconds=seconds)

    def start(self, *arguments: str, data: str = "toy", env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """In a session of its own, so that a signal reaches it and its workers alone."""
        return subprocess.Popen(
            [sys.executable, *PYTEST, "--data", data, *arguments],
            cwd=self.path,
            env=self.environment(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def on_a_terminal(
    *arguments: str, project: Project, seen: Callable[[str], object] = lambda written: None, width: int = 0
) -> str:
    """What a run that succeeds writes on a terminal, of ``width`` columns unless 0. ``seen`` gets all that has been
    written, each time that there is more."""
    ours, theirs = pty.openpty()
    if width:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 40, width, 0, 0))
    command = [sys.executable, *PYTEST, "--data", "toy", *arguments]
    environment = {name: value for name, value in project.environment().items() if name != "COLUMNS"}
    decoder, written = codecs.getincrementaldecoder("utf-8")(), ""
    with subprocess.Popen(command, cwd=project.path, env=environment, stdout=theirs) as process:
        os.close(theirs)
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                written += decoder.decode(part)
                seen(written)
    os.close(ours)
    assert process.returncode == 0, written
    return written


GTA = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), str(ROOT / "bench_gta"))
"""Where GTA-Atomic is, for pytest in another folder."""

WILD = (*GTA[:-1], str(ROOT / "bench_wild"))
"""Where WildToolBench is."""

MMAU = (*GTA[:-1], str(ROOT / "bench_mmau"))
"""Where Apple MMAU is."""


def start_gta(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """As ``run_gta``, without waiting for the end."""
    command = [sys.executable, *PYTEST, *GTA, *arguments]
    return subprocess.Popen(
        command, cwd=cwd, env=Project(cwd).environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run_gta(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> Result:
    """GTA-Atomic as a user runs it, with its real tools; what it writes goes below ``cwd``."""
    return _run(*GTA, *arguments, cwd=cwd, env=env, status=status)


def run_wild(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> Result:
    """WildToolBench as a user runs it."""
    return _run(*WILD, *arguments, cwd=cwd, env=env, status=status)


def run_mmau(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> Result:
    """Apple MMAU as a user runs it."""
    return _run(*MMAU, *arguments, cwd=cwd, env=env, status=status)


def run_bundled(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> Result:
    """Every benchmark as a user runs it."""
    return _run(*GTA, str(ROOT / "bench_wild"), str(ROOT / "bench_mmau"), *arguments, cwd=cwd, env=env, status=status)


def _run(*arguments: str, cwd: Path, env: Mapping[str, str] | None, status: int) -> Result:
    result = pytest_here(*arguments, cwd=cwd, env=env, seconds=300)
    assert result.status == status, result.output
    return result


AT_START = {"PYTHONHASHSEED", "PYTHONWARNINGS", "PYTHONUTF8", "PYTHONIOENCODING", "LANG", "LC_ALL"}


def pytest_here(*words: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 120) -> Result:
    """pytest in this process; its workers are forked."""
    assert env is None or AT_START.isdisjoint(env), "Python reads them when it starts: the test needs a process"
    workers = [Workers(prepared()[-1])] if "-n" in words and len(prepared()) > 1 else []
    environment = Project(cwd).environment(env)
    return Result(*run_pytest([*PYTEST[2:], *words], cwd, environment, seconds, workers), cwd)


def python(*words: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 120) -> Result:
    """``python *words`` with the environment of a project, once it has ended."""
    done = subprocess.run(
        [*prepared(), *words],
        cwd=cwd,
        env=Project(cwd).environment(env),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return Result(done.returncode, done.stdout + done.stderr, cwd)


@dataclass
class Result:
    status: int
    output: str
    path: Path

    def summary(self, run: str) -> dict[str, Any]:
        return summary(self.path / run)


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key != "seconds"}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def records(folder: Path) -> list[dict[str, Any]]:
    return [plain(json.loads(line)) for line in (folder / "records.jsonl").read_bytes().splitlines()]


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT, *, group: bool = False) -> None:
    (os.killpg if group else os.kill)(process.pid, number)
