"""What this package announces to AgentGauge. Every run imports this module."""


def pytest_agentgauge_tasks() -> list[object]:
    from function_calls.test_function_calls import FunctionCalls

    return [FunctionCalls]
