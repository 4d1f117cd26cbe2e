"""Mathematics: answers are judged by a model."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.math_standard")
def test_standard(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.math_comprehend")
def test_comprehend(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.math_planner")
def test_planner(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.math_solver")
def test_solver(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
