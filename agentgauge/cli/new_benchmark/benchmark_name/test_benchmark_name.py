"""One case for each sample."""

from agentgauge import Outcome, benchmark_task


@benchmark_task("benchmark_name")
def test_puzzle(outcome: Outcome) -> None:
    outcome.check()
