"""DAG QA: the right one of several orders of calls."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.dag_reasoning")
def test_reasoning(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.dag_planning")
def test_planning(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
