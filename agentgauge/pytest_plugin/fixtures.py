"""The fixtures: of benchmark cases, and of a project's own tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentgauge.pytest_plugin.keys import PLANNED, WORKER

if TYPE_CHECKING:
    from agentgauge.core.types import Record
    from agentgauge.run.clients import Endpoint
    from agentgauge.run.own_tests.case import OwnCases
    from agentgauge.run.own_tests.objects import Model, Tools
    from agentgauge.run.planned import Planned
    from agentgauge.run.settings import Settings
    from agentgauge.store import Line


# -- The fixtures ``sample`` and ``outcome``, and how a wrong answer and a fault are reported to pytest.


def skip_set_up(config: pytest.Config) -> None:
    """Skip the test where pytest only sets tests up, because no case runs then."""
    if config.getoption("setuponly", False):
        pytest.skip("--setup-only asks no model")


class WrongAnswer(AssertionError, pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """The model's answer is wrong: the case fails. Shown as its text alone, without a traceback of ours."""

    def __init__(self, message: str) -> None:
        pytest.fail.Exception.__init__(self, message, pytrace=False)


class Outcome:
    """The outcome of a benchmark case, as the fixture ``outcome`` returns it."""

    def __init__(self, result: Line | Record) -> None:
        self._result = result

    @property
    def record(self) -> Record:
        """The case's whole record, read from disk at each access, because most passed cases do not need it."""
        from agentgauge.store import Line

        return self._result.read() if isinstance(self._result, Line) else self._result

    def check(self) -> None:
        """Return for a right answer. Raises WrongAnswer with the expected answer, the actual one, and the step."""
        __tracebackhide__ = True
        if self._result.status != "passed":
            explanation = self._explanation()
            raise WrongAnswer("no score" if explanation is None else explanation)

    def _explanation(self) -> str | None:
        from agentgauge.store import Line

        if isinstance(self._result, Line):
            return self._result.explanation()
        return self._result.score.explanation if self._result.score else None


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> str:
    """The name of the case: the sample's id, followed by the attempt from the second attempt on."""
    planned: Planned | None = request.node.stash.get(PLANNED, None)
    if planned is not None:
        return planned.name
    if request.node.get_closest_marker("benchmark_task") and hasattr(request.config, "workerinput"):
        pytest.fail(
            "with -n, AgentGauge must know before collection that there are benchmark cases: name the model, such as"
            " --model=baseline, or put an agentgauge.toml into the project's root folder",
            pytrace=False,
        )
    pytest.fail(
        "the fixtures sample and outcome are for test functions that are marked with benchmark_task(name)",
        pytrace=False,
    )


@pytest.fixture
def outcome(request: pytest.FixtureRequest, sample: str) -> Outcome:
    """The outcome of this case. The sample was run and scored, possibly long before pytest reached the test.

    A fault that is not the model's is raised here, in set-up, so that pytest reports an error and no failure.
    """
    from agentgauge.core.tracebacks import traceback_text

    skip_set_up(request.config)
    result = request.config.stash[WORKER].result(request.node)
    outcome = Outcome(result)
    if result.status == "missing":
        pytest.skip(outcome.record.error or "not attempted")
    if result.status == "broken":
        record = outcome.record
        traceback = traceback_text(record.traceback, request.config.getoption("tbstyle", "auto"))
        pytest.fail("\n".join(filter(None, (record.error or "broken for an unknown reason", traceback))), pytrace=False)
    return outcome


# -- The fixtures for a project's own tests of agents: ``model``, ``tools``, ``model_endpoint`` and ``tool_server``.
#
# All four last for the whole run, so that an agent can be built once. A test that uses one of them, or a fixture that
# does, leaves a record with all messages of the model and the tools. pytest decides whether it passes. Every project
# loads this module: what it needs is imported when a fixture is used.


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
    from agentgauge.run.own_tests.objects import serve

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
