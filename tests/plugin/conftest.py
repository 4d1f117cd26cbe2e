"""An endpoint and a project for runs of pytest inside pytest."""

from __future__ import annotations

import pytest

from tests.model.fault_server import FaultServer, Seen, answer
from tests.plugin.project import Project


def say(seen: Seen):
    """Answers "say X" with X, save for word3."""
    word = seen.body["messages"][-1]["content"].split()[-1]
    return answer("something else" if word == "word3" else word)


def slow(seconds: float):
    """Each answer takes a while, so that a run can be disturbed in the middle."""

    def choose(request):
        act = say(request)

        def later(connection, seen, stopped):
            stopped.wait(seconds)
            return act(connection, seen, stopped)

        return later

    return choose


@pytest.fixture
def endpoint():
    """A model that gets one sample wrong."""
    with FaultServer(choose=say) as server:
        yield server


@pytest.fixture
def project(tmp_path) -> Project:
    return Project.make(tmp_path / "project")


@pytest.fixture
def model(endpoint) -> tuple[str, ...]:
    return ("--model", "m", "--model-url", endpoint.url)
