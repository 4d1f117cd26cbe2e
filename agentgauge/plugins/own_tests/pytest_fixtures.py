"""The fixtures for a project's own tests of agents: ``model``, ``tools``, ``model_endpoint`` and ``tool_server``.

All four last for the whole run, so that an agent can be built once. A test that uses one of them, or a fixture that
does, leaves a record with all messages of the model and the tools. pytest decides whether it passes. Every project
loads this module: what it needs is imported when a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

from agentgauge.pytest_plugin.fixtures import NOT_STARTED, skip_set_up
from agentgauge.pytest_plugin.keys import WORKER

if TYPE_CHECKING:
    from agentgauge.plugins.own_tests.case import OwnCases
    from agentgauge.plugins.own_tests.objects import AskedModel, CalledTools
    from agentgauge.plugins.own_tests.pytest_records import OwnTests
    from agentgauge.run.clients import Endpoint
    from agentgauge.run.given_objects import Model


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Runs before AgentGauge chooses among the cases, and before ``-k`` and ``-m`` are applied."""
    if ours := [item for item in items if "agentgauge_cases" in getattr(item, "fixturenames", ())]:
        from agentgauge.plugins.own_tests.pytest_records import plan

        plan(config, ours)
    return (yield)


@pytest.fixture(scope="session")
def agentgauge_cases(request: pytest.FixtureRequest) -> Callable[[], OwnCases]:
    """The records of this process's own tests, which the fixtures for own tests share."""
    from agentgauge.plugins.own_tests.pytest_records import RECORDS

    skip_set_up(request.config)
    session = request.session
    records: OwnTests | None = request.config.pluginmanager.get_plugin(RECORDS)
    cannot_start = records and records.are_in(session) and records.cases(session) is None
    if WORKER not in request.config.stash or cannot_start:
        pytest.fail(NOT_STARTED, pytrace=False)

    def cases() -> OwnCases:
        found = records and records.cases(session)
        if not found:
            pytest.fail(
                "the test of a benchmark gives model and tools to solve(), and asks them nothing", pytrace=False
            )
        return found

    return cases


@pytest.fixture(scope="session")
def agentgauge_tools() -> None:
    """Marks tests that need a tool server."""


@pytest.fixture(scope="session")
def model(model: Model, agentgauge_cases: Callable[[], OwnCases]) -> AskedModel:
    """The run's model (--model), for ``solve`` and for a project's own tests: ``ask``, ``complete``, and
    ``with_system`` and ``named``, which make another of it."""
    from agentgauge.plugins.own_tests.objects import AskedModel

    return AskedModel(model.settings, model.name, cases=agentgauge_cases)


@pytest.fixture(scope="session")
def tools(agentgauge_cases: Callable[[], OwnCases], agentgauge_tools: None) -> CalledTools:
    """The real tools, for ``solve`` and for a project's own tests: ``tools.OCR(image=path)``, ``tools.catalog``.
    Asynchronous code awaits a call."""
    from agentgauge.plugins.own_tests.objects import CalledTools

    return CalledTools(agentgauge_cases)


@pytest.fixture(scope="session")
def model_endpoint(request: pytest.FixtureRequest, agentgauge_cases: Callable[[], OwnCases]) -> Endpoint:
    """An address of the run's model, for a framework of one's own: ``url``, ``key``, ``model``."""
    from agentgauge.plugins.own_tests.objects import serve

    settings = request.config.stash[WORKER].settings
    cases = agentgauge_cases()
    return cases.run(serve(cases, settings.model.name, settings.slots))


@pytest.fixture(scope="session")
def tool_server(agentgauge_cases: Callable[[], OwnCases], agentgauge_tools: None) -> Endpoint:
    """The address of the run's tool server: ``url``, ``key`` (a bearer token)."""
    from agentgauge.core.errors import UsageProblem

    try:
        return agentgauge_cases().tool_server()
    except UsageProblem as problem:
        pytest.fail(str(problem), pytrace=False)
