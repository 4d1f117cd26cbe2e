"""Announces the task of tests that use the real tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.core.task import Task


def pytest_agentgauge_tasks() -> Sequence[Task]:
    from tool_impls.own_tests import TESTS

    return (TESTS,)
