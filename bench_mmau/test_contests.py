"""Contest-level coding: programs run against the tests of their problem."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.contest_standard")
def test_standard(outcome):
    outcome.check()


@benchmark_task("mmau.contest_parsing")
def test_parsing(outcome):
    outcome.check()


@benchmark_task("mmau.contest_planner")
def test_planner(outcome):
    outcome.check()


@benchmark_task("mmau.contest_solver")
def test_solver(outcome):
    outcome.check()


@benchmark_task("mmau.contest_retry")
def test_retry(outcome):
    outcome.check()
