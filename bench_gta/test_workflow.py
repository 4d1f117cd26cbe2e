"""GTA-Workflow: long tasks with all tools, judged on what is delivered."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("gta_workflow")
def test_workflow(sample, model, tools, solve):
    outcome = solve(sample, model, tools)
    assert outcome.passed, outcome.explanation
