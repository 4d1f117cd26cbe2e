"""The fixtures for a project's own tests of agents: ``model``, ``tools``, ``model_endpoint`` and ``tool_server``.

All four last for the whole run, so that an agent can be built once. A test that uses one of them, or a fixture that
does, leaves a record with all messages of the model and the tools. pytest decides whether it passes. Every project
loads this module: what it needs is imported when a fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentgauge.pytest_plugin.fixtures import skip_set_up
from agentgauge.pytest_plugin.keys import WORKER

if TYPE_CHECKING:
    from agentgauge.run.factories import Endpoint
    from agentgauge.run.own_tests.case import OwnCases
    from agentgauge.run.own_tests.objects import Model, Tools
    from agentgauge.run.settings import Settings

NOT_STARTED = (
    "AgentGauge has not started: with -n it must know before collection that a test uses it, so name the model, such as"
    " --model=baseline, or put an agentgauge.toml into the project's root folder; and name the fixture as an argument"
    " of the test or of a fixture, not in request.getfixturevalue"
)


def uses_us(item: pytest.Item) -> bool:
    """Whether a test uses one of our fixtures, and not a fixture of the project with the same name."""
    return "agentgauge_cases" in getattr(item, "fixturenames", ())


def needs_tools(item: pytest.Item) -> bool:
    return "agentgauge_tools" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def agentgauge_cases(request: pytest.FixtureRequest) -> OwnCases:
    """The records of this process's tests, which the fixtures for own tests share."""
    skip_set_up(request.config)
    worker = request.config.stash.get(WORKER, None)
    cases: OwnCases | None = worker and worker.start_own_tests(request.session)
    if cases is None:
        pytest.fail(NOT_STARTED, pytrace=False)
    return cases


@pytest.fixture(scope="session")
def agentgauge_tools() -> None:
    """Marks tests that need a tool server."""


@pytest.fixture(scope="session")
def model(request: pytest.FixtureRequest, agentgauge_cases: OwnCases) -> Model:
    """The run's model (--model): ``ask``, ``complete``. Asynchronous code awaits what they return."""
    from agentgauge.run.own_tests.objects import Model

    return Model(agentgauge_cases, request.config.stash[WORKER].settings.model.name)


@pytest.fixture(scope="session")
def tools(agentgauge_cases: OwnCases, agentgauge_tools: None) -> Tools:
    """The real tools: ``tools.OCR(image=path)``, ``tools.catalog``. Asynchronous code awaits a call."""
    from agentgauge.run.own_tests.objects import Tools

    return Tools(agentgauge_cases)


@pytest.fixture(scope="session")
def model_endpoint(request: pytest.FixtureRequest, agentgauge_cases: OwnCases) -> Endpoint:
    """An address of the run's model, for a framework of one's own: ``url``, ``key``, ``model``."""
    from agentgauge.run.own_tests.endpoint import serve

    settings: Settings = request.config.stash[WORKER].settings
    return agentgauge_cases.run(serve(agentgauge_cases, settings.model.name, settings.in_flight))


@pytest.fixture(scope="session")
def tool_server(agentgauge_cases: OwnCases, agentgauge_tools: None) -> Endpoint:
    """The address of the run's tool server: ``url``, ``key`` (a bearer token)."""
    from agentgauge.core.errors import UsageProblem

    try:
        return agentgauge_cases.tool_server()
    except UsageProblem as problem:
        pytest.fail(str(problem), pytrace=False)
