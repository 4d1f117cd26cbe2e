"""A project's own tests: their task, and what pytest loads for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from agentgauge.run.task_of_tests import task_of_tests

    return (task_of_tests("tests", title="tests"),)


def pytest_agentgauge_pytest_plugins() -> Sequence[str]:
    return ("agentgauge.plugins.own_tests.pytest_fixtures",)
