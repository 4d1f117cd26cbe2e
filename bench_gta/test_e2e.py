"""GTA-Atomic, end to end: the model works on its own, with real tools."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("gta_atomic.e2e")
def test_end_to_end(outcome):
    outcome.check()
