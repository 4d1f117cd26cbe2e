"""WildToolBench: one case a task, four tasks a session."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("wild")
def test_task(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
