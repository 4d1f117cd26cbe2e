"""An endpoint and a project for runs of pytest inside pytest."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.model.fault_server import Act, FaultServer, Seen, answer, status
from tests.plugin.late_budget import WORKS
from tests.plugin.project import ROOT, Project, summary, without_times


def say(seen: Seen):
    """Answers "say X" with X, save for word3."""
    word = seen.body["messages"][-1]["content"].split()[-1]
    return answer("something else" if word == "word3" else word)


def one_of_each(seen: Seen):
    """One right answer, one wrong, one fault; the rest right."""
    word = str(seen.body["messages"][-1]["content"]).split()[-1]
    return {"word0": answer("no"), "word1": status(400)}.get(word) or answer(word)


def slow(seconds: float):
    """Each answer takes a while, so that a run can be disturbed in the middle."""

    def choose(request):
        act = say(request)

        def later(connection, seen, stopped):
            stopped.wait(seconds)
            return act(connection, seen, stopped)

        return later

    return choose


def after_the_stop(folder: Path, requests: int, seconds: float = 0.5) -> Callable[[Seen], Act]:
    """Answers come once the run in ``folder``/run is to stop, and a while later. The run is started with
    `late_budget`, so that so many requests have come by then."""
    count = itertools.count(1)

    def choose(request: Seen) -> Act:
        if next(count) == requests:
            (folder / WORKS).touch()

        def later(connection: socket.socket, seen: Seen, stopped: threading.Event) -> bool:
            while not (folder / "run" / "stop").exists() and not stopped.is_set():
                time.sleep(0.01)
            stopped.wait(seconds)
            return answer("yes")(connection, seen, stopped)

        return later

    return choose


@cache
def undisturbed(samples: int) -> dict[str, Any]:
    """The summary of a run of so many samples to which nothing happens."""
    with tempfile.TemporaryDirectory() as folder, FaultServer(choose=say) as server:
        project = Project.make(Path(folder), samples)
        result = project.run("--model", "m", "--model-url", server.url, "--run-dir", "run")
        assert result.status == 0, result.output
        return without_times(summary(project.path / "run"))


@pytest.fixture
def endpoint():
    """A model that gets one sample wrong."""
    with FaultServer(choose=say) as server:
        yield server


@pytest.fixture(scope="session")
def tool_server(tmp_path_factory) -> Iterator[str]:
    """The address of a tool server with the checkout's settings, for runs that need not start their own: what the tools
    load they load once."""
    words = ("-m", "tool_impls.server.command", "--port", "0", "--settings", str(ROOT / "agentgauge.toml"))
    env = Project(tmp_path_factory.mktemp("tools")).environment()
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=env) as server:
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            yield said["url"].replace("http://", f"http://:{said['token']}@")
        finally:
            server.terminate()


@pytest.fixture
def project(tmp_path) -> Project:
    return Project.make(tmp_path / "project")


@pytest.fixture
def model(endpoint) -> tuple[str, ...]:
    return ("--model", "m", "--model-url", endpoint.url)
