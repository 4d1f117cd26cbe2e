"""GTA-Atomic, end to end, with the model and the tools of conftest.py."""

from agentgauge import benchmark_task


@benchmark_task("gta_atomic.e2e")
def test_without_tools(sample, model, tools, solve):
    outcome = solve(sample, model, tools)
    assert outcome.passed, outcome.explanation
