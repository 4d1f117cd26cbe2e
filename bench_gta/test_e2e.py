"""GTA-Atomic, end to end: the model works on its own, with real tools."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("gta_atomic.e2e")
def test_end_to_end(sample, model, tools, solve):
    outcome = solve(sample, model, tools)
    assert outcome.passed, outcome.explanation
