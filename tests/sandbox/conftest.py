"""The sandbox as two users: whoever runs the tests, and, when that is root, an ordinary user as well."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.files import remove_tree

from .driver import execute

REPOSITORY = Path(__file__).parents[2]
SECRET = "sk-never-seen-inside"
NOBODY = 65534

Confined = Callable[..., dict[str, Any]]


def as_user(name: str) -> dict[str, Any]:
    """Arguments for subprocess that make it run as this user."""
    return {} if name == "self" else {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def environment() -> dict[str, str]:
    return {
        "PYTHONPATH": str(REPOSITORY),
        "OPENAI_API_KEY": SECRET,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": "/usr/bin:/bin",
    }


@lru_cache
def interpreter(user: str) -> str | None:
    """A Python that the user may run; the one of the virtual environment may lie in a closed home."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        command = [candidate, "-c", "import sys, agentgauge.sandbox; sys.exit(sys.version_info < (3, 11))"]
        try:
            done = subprocess.run(
                command, env=environment(), cwd="/", capture_output=True, check=False, **as_user(user)
            )
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return None


@pytest.fixture(params=["self", "nobody"])
def user(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "nobody" and os.geteuid() != 0:
        pytest.skip("only root can run a test as another user")
    if interpreter(name) is None:
        pytest.skip("no Python 3.11 and no copy of the project that an ordinary user may read")
    return name


@pytest.fixture
def place(user: str) -> Iterator[Path]:
    """A folder of the user's, with ``work`` for the code and ``beside`` for what it must not touch."""
    folder = Path(tempfile.mkdtemp(prefix="sandbox-test-"))
    (folder / "work").mkdir()
    (folder / "beside").write_text("untouched")
    if user == "nobody":
        for path in (folder, folder / "work", folder / "beside"):
            os.chown(path, NOBODY, NOBODY)
    yield folder
    remove_tree(folder)


class Driver:
    """A process of the other user's that runs orders, one at a time."""

    def __init__(self) -> None:
        command = [str(interpreter("nobody")), "-m", "tests.sandbox.driver"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment(),
            cwd="/",
            text=True,
            **as_user("nobody"),
        )

    def execute(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        assert select.select([self._process.stdout], [], [], 60)[0], "no answer from the driver"
        answer = self._process.stdout.readline()
        assert answer.strip(), "the order's process, or the driver, has died"
        return dict(json.loads(answer))

    def end(self) -> None:
        """After a failure."""
        self._process.kill()
        self._process.communicate()

    def close(self) -> None:
        try:
            self._process.communicate(timeout=10)
        finally:
            self._process.kill()
        assert self._process.returncode == 0


@pytest.fixture(scope="session")
def drivers() -> Iterator[list[Driver]]:
    """Those that are idle; tests that run orders side by side add to them."""
    idle: list[Driver] = []
    yield idle
    for driver in idle:
        driver.close()


@pytest.fixture
def confined(user: str, place: Path, drivers: list[Driver], monkeypatch: pytest.MonkeyPatch) -> Confined:
    """Run code in the sandbox as the user; ``script``: in a process that stands ready. ``refuse`` plays a machine that
    does not allow those layers."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)

    def run(
        code: str,
        *,
        refuse: tuple[str, ...] = (),
        script: bool = False,
        **limits: Any,
    ) -> dict[str, Any]:
        order: dict[str, Any] = {
            "code": code,
            "script": script,
            "folder": str(place / "work"),
            "refuse": refuse,
            "environment": dict(os.environ),
        }
        order["limits"] = {"wall_seconds": 10} | limits
        if user == "self":
            return execute(order)
        driver = drivers.pop() if drivers else Driver()
        try:
            answer = driver.execute(order)
        except BaseException:
            driver.end()
            raise
        drivers.append(driver)
        return answer

    return run
