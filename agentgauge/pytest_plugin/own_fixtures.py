"""The fixtures for a project's own tests of agents: ``model``, ``tools``, ``model_endpoint`` and ``tool_server``.

A test that uses one of them leaves a record in the run folder, with all messages of the model and the tools. pytest
decides whether it passes. Every project loads this module: what it needs is imported when a fixture is used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from agentgauge.pytest_plugin.keys import OWN, WORKER

if TYPE_CHECKING:
    from agentgauge.run.factories import Endpoint
    from agentgauge.run.own_tests.case import Model, OwnCase, Tools

NOT_STARTED = (
    "AgentGauge has not started: with -n it must know before collection that a test uses it, so name the model, such as"
    " --model=baseline, or put an agentgauge.toml into the project's root folder; and name the fixture as an argument"
    " of the test or of a fixture, not in request.getfixturevalue"
)


def uses_us(item: pytest.Item) -> bool:
    """Whether a test uses one of our fixtures, and not a fixture of the project with the same name."""
    return "agentgauge_case" in getattr(item, "fixturenames", ())


def needs_tools(item: pytest.Item) -> bool:
    return "agentgauge_tool_server" in getattr(item, "fixturenames", ())


@pytest.fixture
def agentgauge_case(request: pytest.FixtureRequest) -> Iterator[OwnCase]:
    """The test's record, which the fixtures for own tests share."""
    item, worker = request.node, request.config.stash.get(WORKER, None)
    if worker is None or OWN not in item.stash:
        pytest.fail(NOT_STARTED, pytrace=False)
    begin = time.monotonic()
    case = worker.open_case(item)
    yield case
    worker.close_case(item, case, time.monotonic() - begin)


@pytest.fixture
def agentgauge_tool_server(agentgauge_case: OwnCase) -> Endpoint:
    return agentgauge_case.tool_server()


@pytest.fixture
def model(agentgauge_case: OwnCase) -> Model:
    """The run's model (--model): ``ask``, ``complete``. Asynchronous code awaits what they return."""
    from agentgauge.run.own_tests.case import Model

    return Model(agentgauge_case)


@pytest.fixture
def tools(agentgauge_case: OwnCase, agentgauge_tool_server: Endpoint) -> Tools:
    """The real tools: ``tools.OCR(image=path)``, ``tools.catalog``. Asynchronous code awaits a call."""
    from agentgauge.run.own_tests.case import Tools

    return Tools(agentgauge_case)


@pytest.fixture
def model_endpoint(agentgauge_case: OwnCase) -> Endpoint:
    """The address of the run's model, for a framework of one's own: ``url``, ``key``, ``model``."""
    return agentgauge_case.model_endpoint()


@pytest.fixture
def tool_server(agentgauge_tool_server: Endpoint) -> Endpoint:
    """The address of the run's tool server: ``url``, ``key`` (a bearer token)."""
    return agentgauge_tool_server
