"""Tool use: the next turn of a conversation, its calls compared with the target."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.tool_single")
def test_single(outcome):
    outcome.check()


@benchmark_task("mmau.tool_parallel")
def test_parallel(outcome):
    outcome.check()


@benchmark_task("mmau.tool_double")
def test_double(outcome):
    outcome.check()


@benchmark_task("mmau.tool_triple")
def test_triple(outcome):
    outcome.check()


@benchmark_task("mmau.tool_self_correct")
def test_self_correct(outcome):
    outcome.check()
