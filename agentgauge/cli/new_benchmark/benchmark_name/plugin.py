"""What this package announces to AgentGauge. Every run imports this module."""


def pytest_agentgauge_tasks() -> list[object]:
    from benchmark_name.test_benchmark_name import Puzzles

    return [Puzzles]
