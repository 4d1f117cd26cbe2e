"""GTA-Atomic, step by step: each turn is predicted from the gold history; no tool runs."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("gta_atomic.step")
def test_step_by_step(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
