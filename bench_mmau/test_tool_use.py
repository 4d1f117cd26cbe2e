"""Tool use: the next turn of a conversation, its calls compared with the target."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.tool_single")
def test_single(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.tool_parallel")
def test_parallel(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.tool_double")
def test_double(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.tool_triple")
def test_triple(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.tool_self_correct")
def test_self_correct(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
