"""What this package announces to AgentGauge. Every run imports this module."""


def pytest_agentgauge_tasks() -> list[object]:
    from library_desk.test_library_desk import LibraryDesk

    return [LibraryDesk]
