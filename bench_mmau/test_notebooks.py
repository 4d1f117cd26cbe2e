"""Data science notebooks: cells are written and run, and questions on what they show are answered."""

from agentgauge.pytest_plugin import benchmark_task


@benchmark_task("mmau.ds_e2e")
def test_e2e(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.ds_codegen")
def test_codegen(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.ds_oracle")
def test_oracle(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation


@benchmark_task("mmau.ds_retry")
def test_retry(sample, model, solve):
    outcome = solve(sample, model)
    assert outcome.passed, outcome.explanation
