"""The fixtures of benchmark cases. Every project loads this module: what it needs is imported when a fixture is
used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import pytest

from agentgauge.pytest_plugin.keys import OUTCOME, PLANNED, WORKER

if TYPE_CHECKING:
    from agentgauge.core.types import Record
    from agentgauge.run.given_objects import Model, Tools
    from agentgauge.run.planned import Given, Planned
    from agentgauge.store import Line


def skip_set_up(config: pytest.Config) -> None:
    """Skip the test where pytest only sets tests up, because no case runs then."""
    if config.getoption("setuponly", False):
        pytest.skip("--setup-only asks no model")


class Outcome:
    """The outcome of a benchmark case, as ``solve`` and the fixture ``outcome`` return it."""

    def __init__(self, result: Line | Record) -> None:
        self._result = result

    def __repr__(self) -> str:
        return f"<outcome: {self._result.status}>"

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self._result.status == "passed"

    @property
    def explanation(self) -> str:
        """What was expected, what came, and at which step; of a right answer mostly empty."""
        from agentgauge.store import Line

        if isinstance(self._result, Line):
            found = self._result.explanation()
        else:
            found = self._result.score.explanation if self._result.score else None
        if found is None:
            return "no score"
        return found or ("" if self.passed else "wrong; the task gave no explanation")

    @property
    def record(self) -> Record:
        """The case's whole record, read from disk at each access, because most passed cases do not need it."""
        from agentgauge.store import Line

        return self._result.read() if isinstance(self._result, Line) else self._result

    def check(self) -> None:
        """As ``assert outcome.passed, outcome.explanation``."""
        __tracebackhide__ = True
        assert self.passed, self.explanation


class BrokenCase(pytest.fail.Exception):  # type: ignore[misc, name-defined]
    """A fault that is not the model's, shown as its text alone."""

    def __init__(self, message: str) -> None:
        super().__init__(message, pytrace=False)


class Solve(Protocol):
    """What the fixture ``solve`` is."""

    def __call__(self, sample: str, model: object = None, tools: object = None) -> Outcome: ...


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> str:
    """The name of the case: the sample's id, followed by the attempt from the second attempt on."""
    planned: Planned | None = request.node.stash.get(PLANNED, None)
    if planned is not None:
        return planned.name
    pytest.fail(
        "the fixtures sample, solve and outcome are for test functions that are marked with benchmark_task(name)",
        pytrace=False,
    )


@pytest.fixture
def solve(request: pytest.FixtureRequest, sample: str) -> Solve:
    """``solve(sample, model, tools)``: the outcome of this case, with the objects of the fixtures ``model`` and
    ``tools``, or with what the test gives in their place; without them the run's own. The case was mostly run long
    before pytest reached the test: cases with the same objects are started ahead.

    A fault that is not the model's is raised; pytest reports it as an error, and no failure.
    """
    skip_set_up(request.config)
    name = sample

    def solved(sample: str, model: object = None, tools: object = None) -> Outcome:
        __tracebackhide__ = True
        if sample != name:
            raise pytest.UsageError(f"solve got the sample {sample!r}; a test solves its own, which is {name!r}")
        return _outcome(request, given_of(model, tools))

    return solved


@pytest.fixture
def outcome(request: pytest.FixtureRequest, sample: str) -> Outcome:
    """The outcome of this case, solved with the run's own model and tools: ``solve(sample)`` before the test begins."""
    skip_set_up(request.config)
    return _outcome(request, given_of(None, None))


def _outcome(request: pytest.FixtureRequest, given: Given) -> Outcome:
    """Raises what pytest reports as an error for a fault, and skips a case that was not attempted."""
    from agentgauge.core.tracebacks import traceback_text

    __tracebackhide__ = True
    request.node.stash[OUTCOME] = None  # a rerun of the test comes here again
    outcome = Outcome(request.config.stash[WORKER].result(request.node, given))
    record = outcome.record if outcome._result.status in ("missing", "broken") else None
    if record and record.status == "missing":
        pytest.skip(record.error or "not attempted")
    if record:
        traceback = traceback_text(record.traceback, request.config.getoption("tbstyle", "auto"))
        raise BrokenCase("\n".join(filter(None, (record.error or "broken for an unknown reason", traceback))))
    request.node.stash[OUTCOME] = outcome
    return outcome


def given_of(model: object, tools: object) -> Given:
    """What a test gives to ``solve``. Raises UsageError for objects that are no model and no tools."""
    from agentgauge.run.given_objects import GivenModel, GivenTools, Model, Tools
    from agentgauge.run.planned import OWN

    __tracebackhide__ = True
    given = model.given if isinstance(model, Model) else OWN
    if model is not None and not isinstance(model, Model):
        if not all(hasattr(model, name) for name in ("name", "complete")):
            raise pytest.UsageError(
                f"solve got the model {model!r}; give the fixture model, one that it makes (with_system, named), or an"
                " object with name and async complete(request)"
            )
        given = replace(given, model=GivenModel(model))
    if tools is not None and not isinstance(tools, Tools):
        if not all(hasattr(tools, name) for name in ("catalog", "call")):
            raise pytest.UsageError(
                f"solve got the tools {tools!r}; give the fixture tools, or an object with async catalog() and call()"
            )
        given = replace(given, tools=GivenTools(tools))
    return given


NOT_STARTED = (
    "AgentGauge has not started: with -n it must know before collection that a test uses it, so name the model, such as"
    " --model=baseline, or put an agentgauge.toml into the project's root folder; and name the fixture as an argument"
    " of the test or of a fixture, not in request.getfixturevalue"
)


@pytest.fixture(scope="session")
def model(request: pytest.FixtureRequest) -> Model:
    """The run's model (--model), for ``solve``, with ``with_system`` and ``named``, which make another of it."""
    from agentgauge.run.given_objects import Model

    skip_set_up(request.config)
    if WORKER not in request.config.stash:
        pytest.fail(NOT_STARTED, pytrace=False)
    settings = request.config.stash[WORKER].settings
    return Model(settings, settings.model.name)


@pytest.fixture(scope="session")
def tools() -> Tools:
    """The run's tools, for ``solve``."""
    from agentgauge.run.given_objects import Tools

    return Tools()
