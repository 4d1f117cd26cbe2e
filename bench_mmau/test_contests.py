"""Contest-level coding: programs run against the tests of their problem."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.contest_standard")
def test_standard(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.contest_parsing")
def test_parsing(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.contest_planner")
def test_planner(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.contest_solver")
def test_solver(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.contest_retry")
def test_retry(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
