"""Mathematics: answers are judged by a model."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.math_standard")
def test_standard(outcome):
    outcome.check()


@benchmark_task("mmau.math_comprehend")
def test_comprehend(outcome):
    outcome.check()


@benchmark_task("mmau.math_planner")
def test_planner(outcome):
    outcome.check()


@benchmark_task("mmau.math_solver")
def test_solver(outcome):
    outcome.check()
