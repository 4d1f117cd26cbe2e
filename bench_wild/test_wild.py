"""WildToolBench: one case a task, four tasks a session."""

from harness.plugin import benchmark_task


@benchmark_task("wild")
def test_task(outcome):
    outcome.check()
