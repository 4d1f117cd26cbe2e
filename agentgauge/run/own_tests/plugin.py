"""Announces the task of a project's own tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from agentgauge.run.own_tests.task import TESTS

    return (TESTS,)
