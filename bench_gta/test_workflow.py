"""GTA-Workflow: long tasks with all tools, judged on what is delivered."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("gta_workflow")
def test_workflow(outcome):
    outcome.check()
