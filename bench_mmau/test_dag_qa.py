"""DAG QA: the right one of several orders of calls."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.dag_reasoning")
def test_reasoning(outcome):
    outcome.check()


@benchmark_task("mmau.dag_planning")
def test_planning(outcome):
    outcome.check()
